import assert from "node:assert/strict";
import { EngineError } from "../../src/engine/errors.ts";
import { fingerprint } from "../../src/engine/stream/idempotency.ts";
import type { AppendReply, Replayable, RoutedAppendReply } from "../../src/engine/stream/streams.ts";
import { mergeTokens } from "../../src/engine/token.ts";
import { inputsOf, type LogHistory, type LogWrite, type Place, readPage, type SentRecord } from "./log-history.ts";
import { demand, type Outcome } from "./outcome.ts";
import type { Session } from "./session.ts";

const namespace = "n";
/** Well inside the engine's own: the clock may jump while a request is under way. */
const idempotencyWindowMs = 18 * 3_600_000;

type Reply = Replayable<AppendReply> | Replayable<RoutedAppendReply>;

/** A request that can be sent again under its key. */
interface KeyedWrite {
  readonly history: LogHistory;
  readonly write: LogWrite;
  readonly partition: number | undefined;
  readonly key: string;
  /** The reply, once someone got it. */
  reply: unknown;
}

/** Makes the records of a stream's writes. */
export type MakeRecord = (dice: Session["dice"], nowMs: number, isKeyed: boolean) => SentRecord;

export interface WrittenStream {
  readonly history: LogHistory;
  readonly makeRecord: MakeRecord;
  /** Only by the key of its records. */
  readonly isRouted: boolean;
}

/** What clients do with streams. */
export class StreamClients {
  readonly #session: Session;
  readonly #streams: readonly WrittenStream[];
  readonly #keyed: KeyedWrite[] = [];

  constructor(session: Session, streams: readonly WrittenStream[]) {
    this.#session = session;
    this.#streams = streams;
  }

  async append(): Promise<void> {
    const { dice, world } = this.#session;
    const { history, makeRecord, isRouted } = dice.pick(this.#streams);
    const key = dice.chance(0.3) ? `k${this.#session.takeId()}` : undefined;
    const count = dice.chance(0.7) ? 1 : dice.between(2, 5);
    const records = Array.from({ length: count }, () => makeRecord(dice, world.time.wallMs, key !== undefined));
    const partition = isRouted || dice.chance(0.3) ? undefined : dice.below(history.partitions.length);
    const write = history.begin(this.#session.takeId(), records);
    if (key === undefined) return this.#appendOnce(history, write, partition);
    const keyed = { history, write, partition, key, reply: undefined };
    this.#keyed.push(keyed);
    await this.#appendKeyed(keyed);
  }

  async #appendOnce(history: LogHistory, write: LogWrite, partition: number | undefined): Promise<void> {
    const { dice } = this.#session;
    const known = partition === undefined ? 0 : history.next(partition);
    const matchOffset = partition !== undefined && dice.chance(0.25) ? known + dice.below(2) : undefined;
    const outcome = await this.#send(history, write, partition, matchOffset, undefined);
    if (outcome.kind === "crash") return history.lose(write);
    if (outcome.kind === "error") return this.#refused(history, write, partition, matchOffset, known, outcome.error);
    const { reply, replayed } = outcome.value;
    assert.equal(replayed, false);
    this.#landed(history, write, partition, reply);
    if (matchOffset !== undefined) demand((reply as AppendReply).baseOffset === matchOffset, () => "match_offset");
  }

  #refused(
    history: LogHistory,
    write: LogWrite,
    partition: number | undefined,
    matchOffset: number | undefined,
    known: number,
    error: unknown,
  ): void {
    history.refuse(write);
    if (!(error instanceof EngineError) || error.reason !== "aborted") return;
    const end = Number(error.details["high_watermark"]);
    demand(matchOffset !== undefined && end !== matchOffset && end >= known, () => {
      return `${history.name}/${partition}: refused at ${end}, where ${known} was known and ${matchOffset} expected`;
    });
    history.sawEnd(partition!, end);
  }

  /** Sends a keyed request, at times twice at once. */
  async #appendKeyed(keyed: KeyedWrite): Promise<void> {
    const { history, write, partition, key } = keyed;
    const wasDone = write.state === "done";
    if (!wasDone) write.state = "pending";
    const sends = this.#session.dice.chance(0.25) ? 2 : 1;
    const outcomes = await Promise.all(
      Array.from({ length: sends }, () => this.#send(history, write, partition, undefined, key)),
    );
    const answers = outcomes.flatMap((outcome) => (outcome.kind === "answer" ? [outcome.value] : []));
    for (const { reply, replayed } of answers) {
      this.#landed(history, write, partition, reply);
      keyed.reply ??= reply;
      assert.deepEqual(reply, keyed.reply, "a replay is the recorded reply");
      demand(replayed || !wasDone, () => `${key}: what was done was done again`);
    }
    const fresh = answers.filter(({ replayed }) => !replayed).length;
    demand(fresh <= 1, () => `${key}: written twice`);
    if (answers.length > 0 || wasDone) return;
    if (outcomes.some(({ kind }) => kind === "crash")) history.lose(write);
    else history.refuse(write);
  }

  /** Sends a keyed request again, or another one under its key. */
  async resend(): Promise<void> {
    const { dice, world } = this.#session;
    const usable = this.#keyed.filter(({ write }) => {
      const isFresh = world.time.latestMs(write.sentAt) - write.sentAt.wallMs < idempotencyWindowMs;
      return isFresh && write.state !== "pending" && write.state !== "unknown";
    });
    if (usable.length === 0) return;
    const keyed = dice.pick(usable);
    if (keyed.write.state !== "done" || dice.chance(0.7)) return this.#appendKeyed(keyed);
    const { history, partition, key } = keyed;
    const other = history.begin(this.#session.takeId(), keyed.write.records);
    const outcome = await this.#send(history, other, partition, undefined, key);
    demand(outcome.kind !== "answer", () => `${key}: another body was taken`);
    if (outcome.kind === "crash") history.lose(other);
    else history.refuse(other);
  }

  #send(
    history: LogHistory,
    write: LogWrite,
    partition: number | undefined,
    matchOffset: number | undefined,
    key: string | undefined,
  ): Promise<Outcome<Reply>> {
    const { world } = this.#session;
    const target = { namespace, stream: history.name, records: inputsOf(write) };
    const body = `${write.id} ${partition}`;
    const idempotency = key === undefined ? {} : { idempotency: { key, fingerprint: fingerprint(body) } };
    const match = matchOffset === undefined ? {} : { matchOffset };
    const what = `append ${history.name}/${partition ?? "*"} #${write.id} ${key ?? ""}`;
    return this.#session.ask<Reply>(what, ["aborted"], () =>
      partition === undefined
        ? world.engine.streams.appendRouted({ ...target, ...idempotency })
        : world.engine.streams.append({ ...target, partition, ...match, ...idempotency }),
    );
  }

  #landed(history: LogHistory, write: LogWrite, partition: number | undefined, reply: Reply["reply"]): void {
    this.#session.share(reply.token);
    if ("appends" in reply) this.#landedRouted(history, write, reply);
    else {
      const { baseOffset, lastOffset } = reply;
      demand(
        lastOffset - baseOffset + 1 === write.records.length,
        () => `#${write.id}: ${baseOffset} to ${lastOffset}`,
      );
      for (const i of write.records.keys()) history.place(write, i, { partition: partition!, offset: baseOffset + i });
    }
    history.acknowledge(write);
  }

  /** A record with a key is where its key is, those without are together. */
  #landedRouted(history: LogHistory, write: LogWrite, reply: RoutedAppendReply): void {
    const free = new Map(reply.appends.map(({ partition, baseOffset }) => [partition, baseOffset]));
    const take = (index: number, partition: number) => {
      const offset = free.get(partition);
      demand(offset !== undefined, () => `#${write.id}: nothing was appended to partition ${partition}`);
      free.set(partition, offset! + 1);
      history.place(write, index, { partition, offset: offset! });
    };
    const keyless = this.#keylessPartition(history, write, reply);
    for (const [i, { key }] of write.records.entries())
      take(i, key === undefined ? keyless! : history.partitionOf(key));
    for (const { partition, lastOffset } of reply.appends) {
      demand(free.get(partition) === lastOffset + 1, () => `#${write.id}: partition ${partition} has more records`);
    }
  }

  #keylessPartition(history: LogHistory, write: LogWrite, reply: RoutedAppendReply): number | undefined {
    const left = new Map(reply.appends.map((each) => [each.partition, each.lastOffset - each.baseOffset + 1]));
    for (const { key } of write.records) {
      if (key === undefined) continue;
      const partition = history.partitionOf(key);
      left.set(partition, (left.get(partition) ?? 0) - 1);
    }
    return [...left].find(([, count]) => count > 0)?.[0];
  }

  async fetch(): Promise<void> {
    const { dice, world } = this.#session;
    const { history } = dice.pick(this.#streams);
    const partition = dice.below(history.partitions.length);
    const known = history.next(partition);
    const token = this.#session.someToken();
    const timestampMs = dice.chance(0.2) ? world.time.wallMs - dice.below(40_000) : undefined;
    const offset = dice.chance(0.1) ? known + dice.below(3) : Math.max(0, known - dice.below(12));
    const from = timestampMs === undefined ? { offset } : { timestampMs };
    // A seek that waits has found the end; what comes there then may be of any time.
    const waitMs = timestampMs === undefined && dice.chance(0.2) ? dice.between(1, 3_000) : 0;
    const outcome = await this.#session.ask(
      `fetch ${history.name}/${partition} ${JSON.stringify(from)} ${JSON.stringify(token)}`,
      ["offset_out_of_range"],
      async () => {
        const page = await world.engine.streams.fetch({
          namespace,
          stream: history.name,
          partition,
          from,
          waitMs,
          token,
        });
        return { page, found: readPage(page) };
      },
      // Where retention has its say, a node that follows may still have what is gone elsewhere.
      history.retention === undefined ? mergeTokens(token, history.tokenOf(partition)) : undefined,
    );
    if (outcome.kind === "crash") return;
    if (outcome.kind === "error") return this.#checkOutside(history, partition, offset, known, outcome.error);
    const { page, found } = outcome.value;
    history.sawPage(partition, page, found, leastOf(history, partition, token, known), !outcome.isFollowers);
    if (timestampMs !== undefined) history.sawSeek(partition, timestampMs, page);
  }

  #checkOutside(history: LogHistory, partition: number, offset: number, known: number, error: unknown): void {
    if (!(error instanceof EngineError) || error.reason !== "offset_out_of_range") return;
    const { log_start_offset: start, high_watermark: end } = error.details as Record<string, number>;
    demand((offset < start! || offset > end!) && end! >= known, () => `${history.name}/${partition}: ${error.message}`);
    history.sawStart(partition, start!);
  }

  /** Reads every stream from its start to its end. Only the log is read, which faults do not reach. */
  async audit(histories: readonly LogHistory[]): Promise<void> {
    const { world } = this.#session;
    for (const history of histories) {
      for (const partition of history.partitions.keys()) {
        const known = history.next(partition);
        const { page, found } = await this.#session.insist(`audit ${history.name}/${partition}`, async () => {
          const ref = { namespace, stream: history.name };
          const { partitions } = await world.engine.streams.detail(ref, []);
          const from = { offset: partitions[partition]!.logStartOffset };
          const fetched = await world.engine.streams.fetch({ ...ref, partition, from, waitMs: 0, token: [] });
          return { page: fetched, found: readPage(fetched) };
        });
        history.sawPage(partition, page, found, known);
      }
    }
    for (const history of histories) history.settle();
  }
}

/** The end that a read must at least show. */
function leastOf(
  history: LogHistory,
  partition: number,
  token: readonly ({ stream: number } & Place)[],
  known: number,
): number {
  const named = token.filter((entry) => entry.stream === history.id && entry.partition === partition);
  return Math.max(known, ...named.map(({ offset }) => offset + 1));
}
