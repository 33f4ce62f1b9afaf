import { EngineError } from "../../engine/errors.ts";
import type { Route } from "./route.ts";

export interface Refusal {
  readonly error: EngineError;
  /** The methods that the path serves, where it serves any. */
  readonly allow: string | undefined;
}

interface Served {
  readonly url: string;
  readonly pattern: RegExp;
  readonly allow: string;
}

/** Tells a path that is served, though not by the asked method, from one that is not. */
export class RouteTable {
  readonly #served: readonly Served[];
  /** By the URL of a route, those that name one of its paths themselves: `/things/count` beside `/things/:id`. */
  readonly #closer: ReadonlyMap<string, readonly Served[]>;

  constructor(routes: readonly Pick<Route, "method" | "url">[]) {
    const methods = new Map<string, string[]>();
    for (const { method, url } of routes) methods.set(url, [...(methods.get(url) ?? []), method]);
    const served = [...methods].map(([url, known]) => ({
      url,
      pattern: new RegExp(`^${url.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`),
      allow: (known.includes("GET") ? [...known, "HEAD"] : known).join(", "),
    }));
    // A path that a route names itself is that route's, though another one's parameter takes it too.
    this.#served = served.toSorted((a, b) => parametersOf(a.url) - parametersOf(b.url));
    const closer = this.#served.map(({ url, pattern }) => {
      const others = this.#served.filter((other) => other.url !== url && pattern.test(other.url));
      return [url, others.filter((other) => parametersOf(other.url) < parametersOf(url))] as const;
    });
    this.#closer = new Map(closer.filter(([, others]) => others.length > 0));
  }

  /** Why no route takes a request. */
  refuse(method: string, url: string): Refusal {
    const path = pathOf(url);
    const found = this.#served.find(({ pattern }) => pattern.test(path));
    if (found === undefined) {
      return { error: new EngineError("not_found", `no route ${method} ${path}`), allow: undefined };
    }
    return notAllowed(method, found);
  }

  /**
   * Why a route that takes a request is not the one that was meant: another one names the path itself, and does not
   * serve the method. Undefined where there is none.
   */
  mistaken(method: string, url: string, routeUrl: string): Refusal | undefined {
    const path = this.#closer.has(routeUrl) ? pathOf(url) : "";
    const found = this.#closer.get(routeUrl)?.find(({ pattern }) => pattern.test(path));
    return found === undefined ? undefined : notAllowed(method, found);
  }
}

function pathOf(url: string): string {
  return url.split("?", 1)[0]!;
}

function parametersOf(url: string): number {
  return url.split("/:").length - 1;
}

function notAllowed(method: string, { allow }: Served): Refusal {
  const message = `method: ${method} is not served here; use ${allow}`;
  return { error: new EngineError("method_not_allowed", message), allow };
}
