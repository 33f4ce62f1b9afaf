import type { ThreadService } from "../../../port/threads.ts";
import { EngineError } from "../../errors.ts";
import { parseSchema } from "../schema-parse.ts";
import { CollectionIndex, type SegmentLoader } from "./collection-index.ts";
import type { IndexMessage } from "./messages.ts";

/** What runs in the index thread: the open collections' indexes. */
export class IndexService implements ThreadService {
  readonly #loader: SegmentLoader;
  readonly #open = new Map<number, CollectionIndex>();
  /** The end of each collection's line of messages. */
  readonly #lines = new Map<number, Promise<unknown>>();

  constructor(loader: SegmentLoader) {
    this.#loader = loader;
  }

  handle(message: unknown): Promise<unknown> {
    const given = message as IndexMessage;
    const before = this.#lines.get(given.collection) ?? Promise.resolve();
    const done = before.then(() => this.#answer(given));
    const settled = done.catch(() => {});
    this.#lines.set(given.collection, settled);
    void settled.then(() => {
      if (this.#lines.get(given.collection) === settled) this.#lines.delete(given.collection);
    });
    return done;
  }

  async #answer(message: IndexMessage): Promise<unknown> {
    if (message.kind === "open") {
      const index = await CollectionIndex.open(parseSchema(message.schema), message.manifest, this.#loader);
      this.#open.set(message.collection, index);
      return undefined;
    }
    if (message.kind === "close") {
      this.#open.delete(message.collection);
      return undefined;
    }
    const index = this.#open.get(message.collection);
    if (index === undefined) throw new EngineError("unavailable", "the collection's index is not open; retry");
    switch (message.kind) {
      case "apply":
        index.apply(message.next, message.changes);
        return undefined;
      case "schema":
        index.setSchema(parseSchema(message.schema));
        return undefined;
      case "freeze":
        return index.freeze(message.upTo);
      case "publish":
        await index.publish(message.manifest, this.#loader);
        return undefined;
      case "count":
        return index.count(message.filter, message.eventual);
      case "match":
        return index.match(message.filter, message.afterId, message.limit, message.eventual);
    }
  }
}
