import { call, nsPath } from "./api.ts";
import type { CollectionInfo, StreamItem } from "./types.ts";

/** More than the server gives in one page is refused by it. */
const pageSize = 1_000;
const pagesMax = 100;

/** Everything of a list that the server gives in pages; `show` is told what there is so far. */
async function allPages<T>(
  ns: string,
  what: "streams" | "collections",
  signal: AbortSignal,
  show: (found: readonly T[]) => void,
): Promise<readonly T[]> {
  let found: readonly T[] = [];
  let token = "";
  for (let page = 0; page < pagesMax; page++) {
    const query = new URLSearchParams({ page_size: String(pageSize), ...(token === "" ? {} : { page_token: token }) });
    const answer = await call<Record<string, unknown>>(`${nsPath(ns, what)}?${query}`, { signal });
    found = [...found, ...(answer[what] as readonly T[])];
    token = String(answer["next_page_token"] ?? "");
    if (token === "") break;
    show(found);
  }
  return found;
}

type Show<T> = (found: readonly T[]) => void;
const silently = () => {};

export function listStreams(ns: string, signal: AbortSignal, show: Show<StreamItem> = silently) {
  return allPages<StreamItem>(ns, "streams", signal, show);
}

export function listCollections(ns: string, signal: AbortSignal, show: Show<CollectionInfo> = silently) {
  return allPages<CollectionInfo>(ns, "collections", signal, show);
}

/** The first streams by name, for boxes that only offer some. */
export async function firstStreams(ns: string, count: number, signal: AbortSignal): Promise<readonly StreamItem[]> {
  return (await call<{ streams: StreamItem[] }>(`${nsPath(ns, "streams")}?page_size=${count}`, { signal })).streams;
}
