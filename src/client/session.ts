/** One entry of a consistency token: the last offset of a partition that a reader must see. */
export interface TokenEntry {
  readonly stream: number;
  readonly partition: number;
  readonly offset: number;
}

export type ConsistencyToken = readonly TokenEntry[];

export const sessionLimits = {
  /** Entries that a session remembers, as many as the service takes in one token. */
  entriesMax: 10_000,
  /** What of it is sent: servers and proxies refuse requests whose headers are larger than about 16 KiB. */
  headerBytesMax: 7 * 1024,
} as const;

/**
 * What a session has written. Reads carry it, so that they see those writes whichever process serves them; exported
 * and imported, it lets another process read them too.
 */
export class Session {
  /** By partition, the one written longest ago first. */
  readonly #entries = new Map<string, TokenEntry>();
  #header: string | undefined;

  constructor(token: ConsistencyToken = []) {
    this.merge(token);
  }

  /** Everything the session has written, to be given to another session. */
  get token(): ConsistencyToken {
    return [...this.#entries.values()];
  }

  /** Adds what a write's token or another session names; the later offset of a partition counts. */
  merge(token: ConsistencyToken): void {
    for (const { stream, partition, offset } of token) {
      const key = `${stream}/${partition}`;
      const known = this.#entries.get(key);
      if (known !== undefined && known.offset >= offset) continue;
      this.#entries.delete(key);
      this.#entries.set(key, { stream, partition, offset });
      this.#header = undefined;
    }
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= sessionLimits.entriesMax) break;
      this.#entries.delete(key);
    }
  }

  /** The header's text: all of the token, or its newest entries where all of it is too long. */
  get header(): string | undefined {
    if (this.#entries.size === 0) return undefined;
    this.#header ??= format([...this.#entries.values()]);
    return this.#header;
  }
}

function format(entries: readonly TokenEntry[]): string {
  let text = "";
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = JSON.stringify(entries[i]);
    if (text.length + entry.length + 3 > sessionLimits.headerBytesMax) break;
    text = text === "" ? entry : `${entry},${text}`;
  }
  return `[${text}]`;
}

export function isToken(value: unknown): value is ConsistencyToken {
  return (
    Array.isArray(value) &&
    value.every(
      (entry: unknown) =>
        typeof entry === "object" && entry !== null && "stream" in entry && "partition" in entry && "offset" in entry,
    )
  );
}
