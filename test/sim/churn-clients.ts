import { parseQuery } from "../../src/engine/retrieval/parse.ts";
import { parseFields, parseSchema } from "../../src/engine/schema/schema-parse.ts";
import type { Session } from "./session.ts";

const namespace = "n";
const strong = { token: [], eventual: false };
/** What others may have done to the collection meanwhile. */
const expected = ["not_found", "aborted", "already_exists"];

/**
 * What clients do with a collection that comes and goes under their hands, while a link fills it anew each time. Which
 * of them comes first is open: what counts is that nothing breaks, and what is there in the end.
 */
export class ChurnClients {
  readonly #session: Session;
  readonly #name: string;
  readonly #fields: readonly unknown[];
  #nextField = 1;

  constructor(session: Session, name: string, fields: readonly unknown[]) {
    this.#session = session;
    this.#name = name;
    this.#fields = fields;
  }

  async create(): Promise<void> {
    const { world } = this.#session;
    // With fields added since, the same name has another schema; one that was there may be dropped before the answer.
    await this.#session.ask(`create ${this.#name}`, ["already_exists", "not_found"], async () => {
      await world.engine.collections.create(namespace, this.#name, parseSchema({ fields: this.#fields }));
    });
  }

  async act(): Promise<void> {
    const { dice, world } = this.#session;
    const name = this.#name;
    const ref = { namespace, collection: name };
    const alias = `alias${dice.below(2)}`;
    const [what, run] = dice.pick<readonly [string, () => Promise<unknown>]>([
      ["create", () => this.create()],
      ["create", () => this.create()],
      ["drop", () => world.engine.collections.drop(namespace, name)],
      ["hot", () => world.engine.collections.setHot(namespace, name, dice.chance(0.5))],
      ["count", () => world.engine.documents.count(ref, undefined, strong)],
      ["scroll", () => world.engine.documents.scroll(ref, { filter: undefined, limit: 5, cursor: undefined }, strong)],
      ["alias", () => world.engine.collections.updateAliases(namespace, [{ kind: "add", alias, collection: name }])],
      [
        "fields",
        async () => {
          const field = { name: `f${this.#nextField++ % 3}`, kind: "keyword" };
          await world.engine.collections.addFields(namespace, name, parseFields("fields", [field]), undefined);
        },
      ],
      [
        "search",
        () => {
          const plan = parseQuery({ from: name, filter: { match_all: {} } }, (each) =>
            world.engine.queries.schemaOf(namespace, each),
          );
          return world.engine.queries.run(namespace, plan, []);
        },
      ],
    ]);
    if (what === "create") await run();
    else await this.#session.ask(`${what} ${name}`, [...expected, "invalid_argument"], async () => void (await run()));
  }
}
