import type { Reader } from "../../port/store.ts";
import type { Draft } from "../commit/draft.ts";
import { makeKey, prefixRange, readU64, tables, writeU64 } from "../keys.ts";
import { decode, encode, openValue, sealValue } from "../stored-value.ts";
import type { LinkContext, LinkTotals } from "./target.ts";

export interface LinkMeta extends LinkContext {
  readonly namespaceId: number;
  /** The stream that had the source's name when the link was made. */
  readonly sourceId: number;
}

export const noTotals: LinkTotals = { version: 0, skipped: 0, lost: 0 };

type StoredLink = Pick<LinkMeta, "id" | "source" | "sourceId" | "target" | "options">;

export function linkKey(namespaceId: number, name: string): Buffer {
  return makeKey(tables.link, namespaceId, name);
}

export function encodeLink({ id, source, sourceId, target, options }: LinkMeta): Buffer {
  return encode({ id, source, sourceId, target, options } satisfies StoredLink);
}

export function decodeLink(namespaceId: number, namespace: string, name: string, bytes: Uint8Array): LinkMeta {
  return { ...decode<StoredLink>(bytes), namespaceId, namespace, name };
}

/** A link's totals, and for each partition the next offset it will read. */
export function readTotals(reader: Pick<Reader, "get">, linkId: number): LinkTotals {
  const stored = reader.get(makeKey(tables.linkState, linkId));
  return stored === undefined ? noTotals : decode<LinkTotals>(stored);
}

export function stageTotals(draft: Pick<Draft, "put">, linkId: number, totals: LinkTotals): void {
  draft.put(makeKey(tables.linkState, linkId), encode(totals));
}

export function readApplied(reader: Pick<Reader, "get">, linkId: number, partition: number): number {
  const stored = reader.get(makeKey(tables.linkState, linkId, partition));
  return stored === undefined ? 0 : readU64(openValue(stored), 0);
}

/** The same of every partition that was read from. */
export function readAllApplied(reader: Pick<Reader, "range">, linkId: number): Map<number, number> {
  const applied = new Map<number, number>();
  for (const { key, value } of reader.range({
    from: makeKey(tables.linkState, linkId, 0),
    to: prefixRange(tables.linkState, linkId).to,
  })) {
    applied.set(readU64(key, 9), readU64(openValue(value), 0));
  }
  return applied;
}

export function stageApplied(draft: Draft, linkId: number, partition: number, offset: number): void {
  const value = Buffer.allocUnsafe(8);
  writeU64(value, 0, offset);
  draft.put(makeKey(tables.linkState, linkId, partition), sealValue(value));
}

export function stageForgetState(draft: Draft, linkId: number): void {
  for (const { key } of draft.range(prefixRange(tables.linkState, linkId))) draft.delete(key);
}
