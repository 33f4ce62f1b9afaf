import { EngineError } from "../../engine/errors.ts";
import type { Route } from "./route.ts";

export interface Refusal {
  readonly error: EngineError;
  /** The methods that the path serves, where it serves any. */
  readonly allow: string | undefined;
}

/** Tells a path that is served, though not by the asked method, from one that is not. */
export class RouteTable {
  readonly #served: readonly { readonly pattern: RegExp; readonly allow: string }[];

  constructor(routes: readonly Pick<Route, "method" | "url">[]) {
    const methods = new Map<string, string[]>();
    for (const { method, url } of routes) methods.set(url, [...(methods.get(url) ?? []), method]);
    this.#served = [...methods].map(([url, known]) => ({
      pattern: new RegExp(`^${url.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`),
      allow: (known.includes("GET") ? [...known, "HEAD"] : known).join(", "),
    }));
  }

  /** Why no route takes a request. */
  refuse(method: string, url: string): Refusal {
    const path = url.split("?", 1)[0]!;
    const found = this.#served.find(({ pattern }) => pattern.test(path));
    if (found === undefined) {
      return { error: new EngineError("not_found", `no route ${method} ${path}`), allow: undefined };
    }
    const message = `method: ${method} is not served here; use ${found.allow}`;
    return { error: new EngineError("method_not_allowed", message), allow: found.allow };
  }
}
