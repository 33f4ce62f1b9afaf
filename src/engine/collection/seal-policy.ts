import type { CollectionRuntime } from "./runtime.ts";
import type { CollectionSettings } from "./settings.ts";

/** From so many searches a second on a collection is searched much. */
const busySearches = 100;
/** A shorter look tells little. */
const lookMsMin = 100;
/** A pause of less than this does not end it. */
const pauseMsMax = 3_000;

/** Where writes are refused at fewer than twice as many changes, a segment is begun at half of those; but not for fewer than these. */
const worthRecords = 10_000;

/**
 * How much larger in bytes and older the tail of a collection gets that is searched much. A segment's graph takes several times the
 * processor time of all else about its documents, which the searches need; in the tail they cost each of them a little, and
 * one large segment is less work than several that are merged.
 */
const searchedPatience = 4;

/** Whether a collection is searched much, by how many searches there were since the last look. */
export class SearchPace {
  #searches = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #busyMs = Number.NEGATIVE_INFINITY;

  isBusy(searches: number, steadyMs: number): boolean {
    const tookMs = steadyMs - this.#lookedMs;
    if (tookMs >= lookMsMin) {
      if (((searches - this.#searches) * 1000) / tookMs >= busySearches) this.#busyMs = steadyMs;
      this.#searches = searches;
      this.#lookedMs = steadyMs;
    }
    return steadyMs - this.#busyMs < pauseMsMax;
  }
}

type Tail = Pick<
  CollectionRuntime,
  "backlogRecords" | "backlogBytes" | "lastWriteMs" | "tailSinceMs" | "tailLacksFields"
>;

/** Whether it is time to make a segment of a tail that is not empty. */
export function isSealDue(tail: Tail, settings: CollectionSettings, nowMs: number, isSearched: boolean): boolean {
  const { sealRecords, sealBytes, sealAgeMs, sealIdleMs, tailRecordsMax, tailBytesMax } = settings;
  if (tail.tailLacksFields) return true;
  if (tail.backlogRecords >= Math.min(sealRecords, Math.max(tailRecordsMax / 2, worthRecords))) return true;
  if (tail.backlogBytes >= patient(sealBytes, tailBytesMax, isSearched)) return true;
  if (nowMs - tail.lastWriteMs >= sealIdleMs) return true;
  return nowMs - (tail.tailSinceMs ?? nowMs) >= sealAgeMs * (isSearched ? searchedPatience : 1);
}

/** Where writes would be refused, a segment must be well under way. */
function patient(usual: number, refusedFrom: number, isSearched: boolean): number {
  return isSearched ? Math.max(usual, Math.min(usual * searchedPatience, refusedFrom / 2)) : usual;
}
