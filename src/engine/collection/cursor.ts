import { invalid } from "../errors.ts";
import type { Cursor } from "./pinned-reads.ts";

/** Cursors and page tokens are opaque to clients, and the same on every edge. */

/** Where the next page of documents starts, and in what. */
export function formatCursor(cursor: Cursor | undefined): string | null {
  if (cursor === undefined) return null;
  return Buffer.from(`${cursor.pin}:${cursor.afterId}:${cursor.name}`).toString("base64url");
}

export function parseCursor(path: string, text: string | null | undefined): Cursor | undefined {
  if (text === undefined || text === null || text === "") return undefined;
  const match = /^(\d{1,16}):(\d{1,16}):([\w-]{12})$/.exec(Buffer.from(text, "base64url").toString("latin1"));
  const [pin, afterId] = [Number(match?.[1]), Number(match?.[2])];
  if (match === null || !Number.isSafeInteger(pin) || !Number.isSafeInteger(afterId)) {
    throw invalid(path, "is not a cursor of this service");
  }
  return { pin, afterId, name: match[3]!, field: path };
}

/** The name after which the next page of collections or streams starts. */
export function formatPageToken(after: string): string {
  return after === "" ? "" : Buffer.from(after).toString("base64url");
}

export function parsePageToken(token: string): string {
  const after = Buffer.from(token, "base64url").toString("latin1");
  if (token !== "" && formatPageToken(after) !== token) throw invalid("page_token", "is not a token of this service");
  return after;
}
