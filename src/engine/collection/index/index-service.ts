import type { Clock } from "../../../port/clock.ts";
import { nextTurn } from "../../../port/next-turn.ts";
import type { Random } from "../../../port/random.ts";
import { type ThreadService, Transferred } from "../../../port/threads.ts";
import { usualCandidates } from "../../../port/vector-graph.ts";
import { EngineError } from "../../errors.ts";
import { executeSteps, type QueryParts } from "../../retrieval/execute.ts";
import type { AnsweredQuery } from "../../retrieval/format.ts";
import { type PartStats, packOutcome, type QueryOutcome } from "../../retrieval/outcome.ts";
import type { VectorSearch } from "../../retrieval/retrieve.ts";
import { queryStopped } from "../../retrieval/stopped.ts";
import { readSchema } from "../../schema/schema-parse.ts";
import { evaluateFilter } from "../../search/filter/evaluate.ts";
import { searchAnn } from "../../search/vector/ann.ts";
import { measureRecall, type Recall } from "../../search/vector/recall.ts";
import type { Steps } from "../../turns.ts";
import { CollectionIndex, type SegmentGraphs, type SegmentLoader } from "./collection-index.ts";
import type { IndexMessage, IndexQuery } from "./messages.ts";
import { type AnswerDeps, QueryAnswers } from "./query-answers.ts";
import { QueryRunner } from "./query-runner.ts";

/** What runs in an index thread: the open collections' indexes. */
export class IndexService implements ThreadService {
  readonly #loader: SegmentLoader;
  readonly #open = new Map<number, CollectionIndex>();
  /** The end of each collection's line of messages. */
  readonly #lines = new Map<number, Promise<unknown>>();

  readonly #clock: Clock;
  readonly #runner: QueryRunner;

  readonly #random: Random;
  readonly #onLeftBehind: () => void;
  readonly #pause: () => void;
  readonly #answers: QueryAnswers | undefined;
  #searchedMs = Number.NEGATIVE_INFINITY;

  /**
   * `onLeftBehind` is told when an index lets go of what it held so far: tails, segments or all of it. `pause` is called
   * between the steps of long work. Without `answers` whole queries are declined.
   */
  constructor(
    loader: SegmentLoader,
    clock: Clock,
    random: Random,
    onLeftBehind: () => void = () => {},
    pause: () => void = () => {},
    answers?: AnswerDeps,
  ) {
    this.#onLeftBehind = onLeftBehind;
    this.#pause = pause;
    this.#loader = loader;
    this.#clock = clock;
    this.#random = random;
    this.#runner = new QueryRunner(clock);
    this.#answers = answers && new QueryAnswers(answers, clock);
  }

  handle(message: unknown): unknown {
    const request = message as IndexMessage;
    switch (request.kind) {
      case "cancel":
        return this.#runner.cancel(request.query);
      case "search":
        return this.#started(request, () => this.#search(request)).then(packOutcome);
      case "answer":
        return this.#started(request, () => this.#answerQuery(request)).then(transferred);
      case "count":
        return this.#started(request, () => this.#find(request, (index) => index.count(request)));
      case "match":
        return this.#started(request, () => this.#find(request, (index) => index.match(request)));
      default:
        return this.#inOrder(request, () => this.#answer(request));
    }
  }

  /** A query starts in the order of the messages, with the parts as they are then; the messages after it do not wait for its end. */
  #started<T>(message: QueryMessage, start: () => Promise<T>): Promise<T> {
    this.#runner.expect(message.query);
    this.#searchedMs = this.#clock.steadyMs();
    const before = this.#lines.get(message.collection);
    return before === undefined ? start() : before.then(start);
  }

  /** Searches queue by themselves: to pause besides would only make the next one later. */
  get #isSearched(): boolean {
    return this.#clock.steadyMs() - this.#searchedMs < searchedMs;
  }

  #inOrder<T>({ collection }: IndexMessage, answer: () => T | Promise<T>): Promise<T> {
    const before = this.#lines.get(collection) ?? Promise.resolve();
    const done = before.then(answer);
    const settled = done.catch(() => {});
    this.#lines.set(collection, settled);
    void settled.then(() => {
      if (this.#lines.get(collection) === settled) this.#lines.delete(collection);
    });
    return done;
  }

  #search({ collection, query, plan }: Extract<IndexMessage, { kind: "search" }>): Promise<QueryOutcome> {
    if (this.#runner.arrive(query)) throw queryStopped();
    const parts = this.#partsOf(this.#index(collection), plan.consistency === "eventual");
    return this.#runner.run(query, executeSteps(plan, parts));
  }

  #answerQuery(message: Extract<IndexMessage, { kind: "answer" }>): Promise<AnsweredQuery | undefined> {
    const { collection, query, asked } = message;
    if (this.#runner.arrive(query)) throw queryStopped();
    if (this.#answers === undefined) return Promise.resolve(undefined);
    const index = this.#index(collection);
    const partsOf = (eventual: boolean) => this.#partsOf(index, eventual);
    return this.#runner.run(query, this.#answers.steps(collection, asked, index, partsOf));
  }

  #find<T>({ collection, query }: QueryMessage, stepsOf: (index: CollectionIndex) => Steps<T>): Promise<T> {
    if (this.#runner.arrive(query)) throw queryStopped();
    return this.#runner.run(query, stepsOf(this.#index(collection)));
  }

  #partsOf(index: CollectionIndex, eventual: boolean): QueryParts<SegmentGraphs> {
    return {
      readers: index.readers(eventual),
      graphs: index.graphs,
      vectorSearch: searchGraphs,
      describeGraphs,
      steadyMs: () => this.#clock.steadyMs(),
    };
  }

  #recall(index: CollectionIndex, question: Extract<IndexMessage, { kind: "recall" }>): Promise<Recall> {
    const { field, num, k, filter, eventual } = question;
    const readers = index.readers(eventual);
    const graphs = index.graphs.map((each) => each?.get(field));
    return measureRecall(readers, graphs, field, {
      num,
      k,
      ...(filter === undefined ? {} : { filters: readers.map((reader) => evaluateFilter(filter, reader)) }),
      random: this.#random,
      clock: this.#clock,
      pause: nextTurn,
    });
  }

  #index(collection: number): CollectionIndex {
    const index = this.#open.get(collection);
    if (index === undefined) throw new EngineError("unavailable", "the collection's index is not open; retry");
    return index;
  }

  async #answer(message: IndexMessage): Promise<unknown> {
    if (message.kind === "open") {
      this.#forget(message.collection);
      const { schema, manifest, loaded, keeps } = message;
      const index = await CollectionIndex.open(readSchema(schema), manifest, this.#loader, loaded, keeps);
      this.#open.set(message.collection, index);
      return index.sharedSegments;
    }
    if (message.kind === "close") {
      this.#forget(message.collection);
      this.#onLeftBehind();
      return undefined;
    }
    const index = this.#index(message.collection);
    // In slices, for other collections; the messages of this one wait in their line.
    return message.kind === "recall" ? this.#recall(index, message) : this.#change(index, message);
  }

  /** An index that missed a change must not answer: it is closed, and its next reader opens it anew. */
  async #change(index: CollectionIndex, message: IndexMessage): Promise<unknown> {
    try {
      switch (message.kind) {
        case "apply":
          index.apply(message.next, message.changes, this.#isSearched ? undefined : this.#pause);
          return this.#answers?.onChanges(message.collection, message.changes, message.total);
        case "schema":
          return index.setSchema(readSchema(message.schema));
        case "freeze": {
          const frozen = index.freeze(message.upTo);
          this.#answers?.onFrozen(message.collection);
          return new Transferred(frozen, frozen.changes?.map(({ buffer }) => buffer) ?? []);
        }
        case "publish":
          await index.publish(message.manifest, this.#loader, message.loaded);
          this.#answers?.onPublished(message.collection);
          this.#onLeftBehind();
          return index.sharedSegments;
        default:
          return undefined;
      }
    } catch (error) {
      this.#forget(message.collection);
      throw error;
    }
  }

  #forget(collection: number): void {
    this.#open.delete(collection);
    this.#answers?.reset(collection);
  }
}

const searchGraphs: VectorSearch<SegmentGraphs> = (readers, graphs, field, query, k, options) =>
  searchAnn(
    readers,
    graphs.map((each) => each?.get(field)),
    field,
    query,
    k,
    options,
  );

function describeGraphs(graphs: SegmentGraphs): PartStats["graphs"] {
  const measured = [...graphs].filter(([, { recall }]) => recall !== undefined);
  if (measured.length === 0) return undefined;
  const round = (recall: number) => Math.round(recall * 1000) / 1000;
  return Object.fromEntries(
    measured.map(([field, { effort, recall }]) => [field, { ef: usualCandidates * effort, recall: round(recall!) }]),
  );
}

type QueryMessage = Extract<IndexMessage, { kind: IndexQuery["kind"] }>;

function transferred(answered: AnsweredQuery | undefined): unknown {
  if (answered === undefined || typeof answered.body === "string") return answered;
  return new Transferred(answered, [answered.body.buffer]);
}

/** For how long after a search another one is to be expected. */
const searchedMs = 20;
