import { invalid } from "../engine/errors.ts";

/** Cursors and page tokens are opaque to clients, and the same over REST and RPC. */

/** The id after which the next page of documents starts. */
export function formatCursor(afterId: number | undefined): string | null {
  return afterId === undefined ? null : Buffer.from(`after:${afterId}`).toString("base64url");
}

export function parseCursor(path: string, cursor: string | null | undefined): number {
  if (cursor === undefined || cursor === null || cursor === "") return -1;
  const match = /^after:(\d{1,16})$/.exec(Buffer.from(cursor, "base64url").toString("latin1"));
  if (match === null) throw invalid(path, "is not a cursor of this service");
  return Number(match[1]);
}

/** The name after which the next page of collections starts. */
export function formatPageToken(after: string): string {
  return after === "" ? "" : Buffer.from(after).toString("base64url");
}

export function parsePageToken(token: string): string {
  const after = Buffer.from(token, "base64url").toString("latin1");
  if (token !== "" && formatPageToken(after) !== token) throw invalid("page_token", "is not a token of this service");
  return after;
}
