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

/** A reply as an idempotency key keeps it: one run, or three numbers for each event (how, partition, offset). */
export type RecordedEvents = { readonly run: EventRun } | { readonly places: readonly number[] };

const recordedStatuses = ["appended", "duplicate"] as const satisfies EventStatus[];

/** What became of the events of a request. */
export class EventsReply {
  /** Names every event of the request, duplicates too. */
  readonly token: ConsistencyToken;
  readonly inFlight: boolean;
  /** It was recorded by an earlier request with the same idempotency key. */
  readonly replayed: boolean;
  /** All of the events where they are one run, as nearly always: without an object for each. */
  readonly run: EventRun | undefined;
  readonly #results: readonly EventResult[] | undefined;

  private constructor(
    token: ConsistencyToken,
    run: EventRun | undefined,
    results: readonly EventResult[] | undefined,
    replayed = false,
  ) {
    this.token = token;
    this.replayed = replayed;
    this.run = run;
    this.#results = results;
    this.inFlight = results?.some(({ status }) => status === "in_flight") === true;
  }

  static ofRun(stream: number, run: EventRun, replayed = false): EventsReply {
    const { partition, baseOffset, count } = run;
    return new EventsReply([{ stream, partition, offset: baseOffset + count - 1 }], run, undefined, replayed);
  }

  static ofResults(stream: number, results: readonly EventResult[], replayed = false): EventsReply {
    return new EventsReply(tokenOf(stream, results), undefined, results, replayed);
  }

  static ofRecorded(stream: number, recorded: RecordedEvents): EventsReply {
    if ("run" in recorded) return EventsReply.ofRun(stream, recorded.run, true);
    const { places } = recorded;
    const results: EventResult[] = [];
    for (let i = 0; i < places.length; i += 3) {
      results.push({ status: recordedStatuses[places[i]!]!, partition: places[i + 1]!, offset: places[i + 2]! });
    }
    return EventsReply.ofResults(stream, results, true);
  }

  /** Of a reply in which nothing is in flight. */
  recorded(): RecordedEvents {
    if (this.run !== undefined) return { run: this.run };
    const places: number[] = [];
    for (const { status, partition, offset } of this.events) {
      places.push(status === "appended" ? 0 : 1, partition!, offset!);
    }
    return { places };
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
