import type { SegmentEntry } from "./collection-store.ts";

/** Segments of about the same size are merged when there are this many of them. */
const tierWidth = 4;
/** Sizes below this count as one tier: small segments are searched without a graph. */
const smallestTier = 2_000;
/** A segment with this share of deleted documents is written anew. */
const deletedShare = 0.4;

/** While documents are being written, a merge of more than this waits: what is new must not wait for it, */
const promptDocumentsMax = 20_000;
/** unless there are so many segments that searches feel it. */
const segmentsPatientMax = 8;

/** Where nothing is written, all are made one when the smaller ones hold this share of the largest: each costs every search, */
const quietShare = 1 / 4;
/** unless that takes more than this, and several times as much memory. */
const quietBytesMax = 512 * 1024 * 1024;

/** There are changes that no segment holds yet; there are none; none came for a good while. */
export type WritePace = "written" | "paused" | "quiet";

/** The segments to merge next, none when all is well: a full tier, one that is mostly deleted, or all after a rest. */
export function chooseMerge(segments: readonly SegmentEntry[], pace: WritePace): readonly SegmentEntry[] {
  const chosen = chosenOf(segments);
  if (chosen.length === 0) return pace === "quiet" ? allIfWorthIt(segments) : [];
  const documents = chosen.reduce((sum, entry) => sum + entry.documents, 0);
  const waits = pace === "written" && documents > promptDocumentsMax && segments.length < segmentsPatientMax;
  return waits ? [] : chosen;
}

function allIfWorthIt(segments: readonly SegmentEntry[]): readonly SegmentEntry[] {
  const bytes = segments.reduce((sum, entry) => sum + entry.bytes, 0);
  const largest = segments.reduce((most, { documents }) => Math.max(most, documents), 0);
  const all = segments.reduce((sum, { documents }) => sum + documents, 0);
  return segments.length > 1 && bytes <= quietBytesMax && all - largest >= largest * quietShare ? segments : [];
}

function chosenOf(segments: readonly SegmentEntry[]): SegmentEntry[] {
  const tiers = new Map<number, SegmentEntry[]>();
  for (const entry of segments) {
    const live = entry.documents - entry.deleted;
    const tier = Math.floor(Math.log(Math.max(live, smallestTier) / smallestTier) / Math.log(tierWidth));
    tiers.set(tier, [...(tiers.get(tier) ?? []), entry]);
  }
  for (const tier of [...tiers.keys()].sort((a, b) => a - b)) {
    const members = tiers.get(tier)!;
    if (members.length >= tierWidth) return members;
  }
  const wasteful = segments.find(({ deleted, documents }) => deleted > documents * deletedShare);
  return wasteful === undefined ? [] : [wasteful];
}
