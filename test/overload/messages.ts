/** What the runner and its load processes tell each other. */
export interface LoadTarget {
  readonly url: string;
  readonly postgres: { readonly host: string; readonly port: number };
  /** Each with the share of the load that it gets. */
  readonly namespaces: readonly { readonly name: string; readonly share: number }[];
  /** Tells the processes' records, events and documents apart. */
  readonly process: number;
}

export type LoadOrder =
  | { readonly kind: "aim"; readonly target: LoadTarget }
  /** Clients that each wait for an answer before they ask again. */
  | { readonly kind: "closed"; readonly clients: number; readonly ms: number }
  /** Requests that arrive whether or not others were answered. */
  | { readonly kind: "open"; readonly perSecond: number; readonly ms: number; readonly windowMs: number }
  | { readonly kind: "verify" };

export interface ClassCounts {
  sent: number;
  ok: number;
  /** By code: `429`, `503`, `rpc unavailable`, `sql 53000`. */
  refused: Record<string, number>;
  /** Arrivals that found every connection of their lane in use; nothing of them was sent. */
  dropped: number;
  /** Answers that an overloaded server must not give, and the first few of them. */
  wrong: number;
  samples: string[];
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** By `class namespace`. */
export type Counts = Record<string, ClassCounts>;

export interface Verified {
  readonly appends: number;
  readonly events: number;
  readonly documents: number;
  readonly lost: readonly string[];
}

export type LoadReport =
  | { readonly kind: "ready" }
  /** Successes of one window of an open phase, by `class namespace`. */
  | { readonly kind: "window"; readonly ok: Readonly<Record<string, number>> }
  | { readonly kind: "done"; readonly counts: Counts }
  | { readonly kind: "verified"; readonly verified: Verified };
