import type { ConsistencyToken } from "../token.ts";

export type EventStatus = "appended" | "duplicate" | "in_flight";

export interface EventResult {
  readonly status: EventStatus;
  /** Null while the event is in flight: its place is not known yet. */
  readonly partition: number | null;
  readonly offset: number | null;
}

/** Events that were appended to one partition, one after another. */
export interface EventRun {
  readonly partition: number;
  readonly baseOffset: number;
  readonly count: number;
}

/** What became of the events of a request. */
export class EventsReply {
  /** Names every event of the request, duplicates too. */
  readonly token: ConsistencyToken;
  readonly inFlight: boolean;
  /** All of the events where they are one run, as nearly always: without an object for each. */
  readonly run: EventRun | undefined;
  readonly #results: readonly EventResult[] | undefined;

  private constructor(token: ConsistencyToken, run: EventRun | undefined, results: readonly EventResult[] | undefined) {
    this.token = token;
    this.run = run;
    this.#results = results;
    this.inFlight = results?.some(({ status }) => status === "in_flight") === true;
  }

  static ofRun(stream: number, run: EventRun): EventsReply {
    const { partition, baseOffset, count } = run;
    return new EventsReply([{ stream, partition, offset: baseOffset + count - 1 }], run, undefined);
  }

  static ofResults(stream: number, results: readonly EventResult[]): EventsReply {
    return new EventsReply(tokenOf(stream, results), undefined, results);
  }

  get events(): readonly EventResult[] {
    return this.#results ?? runResults(this.run!);
  }
}

export function runResults({ partition, baseOffset, count }: EventRun): EventResult[] {
  return Array.from({ length: count }, (_, i) => ({ status: "appended", partition, offset: baseOffset + i }));
}

function tokenOf(stream: number, results: readonly EventResult[]): ConsistencyToken {
  const offsets = new Map<number, number>();
  for (const { partition, offset } of results) {
    if (partition === null || offset === null) continue;
    offsets.set(partition, Math.max(offset, offsets.get(partition) ?? 0));
  }
  return [...offsets].sort(([a], [b]) => a - b).map(([partition, offset]) => ({ stream, partition, offset }));
}
