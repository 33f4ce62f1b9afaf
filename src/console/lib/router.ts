import { computed, signal } from "@preact/signals";

/** The address behind `#`: the page and its state, so that whatever is shown can be sent to somebody. */
export interface Route {
  readonly path: readonly string[];
  readonly params: URLSearchParams;
}

export type Params = Readonly<Record<string, string | number | undefined>>;

function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, "");
  const at = text.indexOf("?");
  const path = (at === -1 ? text : text.slice(0, at)).split("/").filter((part) => part !== "");
  return { path: path.map(decode), params: new URLSearchParams(at === -1 ? "" : text.slice(at + 1)) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = signal<Route>(parse(location.hash));
addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

export function href(path: readonly (string | number)[], params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const tail = query.size === 0 ? "" : `?${query}`;
  return `#/${path.map((part) => encodeURIComponent(part)).join("/")}${tail}`;
}

export function navigate(path: readonly (string | number)[], params: Params = {}): void {
  location.hash = href(path, params);
}

/** Changes the state in the address without a new entry in the history. */
export function replaceParams(params: Params): void {
  const merged: Record<string, string> = Object.fromEntries(route.peek().params);
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || value === "") delete merged[name];
    else merged[name] = String(value);
  }
  const next = href(route.peek().path, merged);
  if (next === location.hash) return;
  history.replaceState(null, "", next);
  route.value = parse(next);
}

/** The namespace of the address. */
export const addressed = computed<string | undefined>(() => {
  const { path } = route.value;
  return path[0] === "ns" ? path[1] : undefined;
});
