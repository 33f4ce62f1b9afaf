import { createLocalJWKSet, errors, type FlattenedJWSInput, type JSONWebKeySet, type JWSHeaderParameters } from "jose";
import { unavailable } from "../../engine/errors.ts";
import type { Clock } from "../../port/clock.ts";
import { isSafeProviderUrl } from "./config.ts";

export const providerLimits = {
  responseBytesMax: 256 * 1024,
  responseWaitMs: 5_000,
  keysMax: 100,
  /** Keys of this age are fetched again, in the background. */
  keysFreshMs: 10 * 60_000,
  /** Keys of this age are no longer used: about as long as a token lives that a lost provider has signed. */
  keysUsableMs: 60 * 60_000,
  /** After a failed fetch the next one waits this long. */
  retryMs: 1_000,
  /** A token with a key id that is not known causes a fetch at most this often. */
  unknownKeyFetchMs: 10_000,
} as const;

type LocalKeys = ReturnType<typeof createLocalJWKSet>;

export interface ProviderKeysOptions {
  readonly issuer: string;
  readonly clock: Clock;
  /** Told once when the provider is lost and once when it is back. */
  readonly report: (message: string) => void;
}

/**
 * The signing keys of an identity provider, found by discovery. The provider may be down when the server starts and
 * at any time later: what needs it then is refused as `unavailable` until it answers again.
 */
export class ProviderKeys {
  readonly #options: ProviderKeysOptions;
  readonly #closed = new AbortController();
  #keys: LocalKeys | undefined;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #failedMs = Number.NEGATIVE_INFINITY;
  #unknownKeyMs = Number.NEGATIVE_INFINITY;
  #pending: Promise<void> | undefined;
  #lost = false;
  #generation = 0;

  constructor(options: ProviderKeysOptions) {
    this.#options = options;
  }

  /** Changes whenever the keys were fetched: what was verified with earlier ones has to be verified again. */
  get generation(): number {
    return this.#generation;
  }

  /** Fetches keys ahead of the first token, in the background. */
  prepare(): void {
    this.#load().catch(() => {});
  }

  close(): void {
    this.#closed.abort();
  }

  /** The key that a token names, in the form that jose asks for it. */
  readonly find = async (header: JWSHeaderParameters, token: FlattenedJWSInput) => {
    const keys = await this.#current();
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await this.#loadForUnknownKey(error);
      return (this.#keys ?? keys)(header, token);
    }
  };

  /** The provider may have new keys. While it is unreachable, nobody knows whether the token is one of its own. */
  async #loadForUnknownKey(error: errors.JWKSNoMatchingKey): Promise<void> {
    const nowMs = this.#options.clock.steadyMs();
    if (nowMs - this.#failedMs < providerLimits.retryMs) throw providerLost();
    if (nowMs - this.#unknownKeyMs < providerLimits.unknownKeyFetchMs) throw error;
    await this.#load();
    this.#unknownKeyMs = nowMs;
  }

  async #current(): Promise<LocalKeys> {
    const nowMs = this.#options.clock.steadyMs();
    const ageMs = nowMs - this.#fetchedMs;
    const mayFetch = nowMs - this.#failedMs >= providerLimits.retryMs;
    if (this.#keys !== undefined && ageMs < providerLimits.keysUsableMs) {
      if (ageMs >= providerLimits.keysFreshMs && mayFetch) this.prepare();
      return this.#keys;
    }
    if (!mayFetch && this.#pending === undefined) throw providerLost();
    await this.#load();
    return this.#keys!;
  }

  /** One fetch at a time; whoever asks meanwhile shares it. */
  #load(): Promise<void> {
    this.#pending ??= this.#fetchKeys().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #fetchKeys(): Promise<void> {
    const { clock, issuer, report } = this.#options;
    try {
      const jwksUri = await this.#discover();
      this.#keys = createLocalJWKSet(parseKeySet(await this.#getJson(jwksUri)));
      this.#fetchedMs = clock.steadyMs();
      this.#generation += 1;
    } catch (cause) {
      this.#failedMs = clock.steadyMs();
      if (!this.#lost && !this.#closed.signal.aborted) {
        this.#lost = true;
        report(`the identity provider ${issuer} can't be used: ${describe(cause)}; trying again as tokens arrive`);
      }
      throw providerLost();
    }
    if (this.#lost) {
      this.#lost = false;
      report(`the identity provider ${issuer} answers again`);
    }
  }

  async #discover(): Promise<URL> {
    const { issuer } = this.#options;
    const document = await this.#getJson(new URL(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`));
    const { issuer: named, jwks_uri: jwksUri } = document as Record<string, unknown>;
    if (named !== issuer) {
      throw new Error("its discovery document names another issuer; SERVICE_OIDC_ISSUER must be exactly that one");
    }
    if (typeof jwksUri !== "string" || !URL.canParse(jwksUri))
      throw new Error("its discovery document has no jwks_uri");
    const url = new URL(jwksUri);
    if (!isSafeProviderUrl(url) || (issuer.startsWith("https:") && url.protocol !== "https:")) {
      throw new Error("its jwks_uri is not https");
    }
    return url;
  }

  async #getJson(url: URL): Promise<object> {
    const response = await fetch(url, {
      headers: { accept: "application/json" },
      // Followed, a redirect could lead to another host or from https to http.
      redirect: "error",
      signal: AbortSignal.any([AbortSignal.timeout(providerLimits.responseWaitMs), this.#closed.signal]),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`${url.pathname} answered with status ${response.status}`);
    }
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > providerLimits.responseBytesMax) throw new Error(`${url.pathname} answered with too much`);
      chunks.push(chunk);
    }
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (typeof value !== "object" || value === null) throw new Error(`${url.pathname} answered with no JSON object`);
    return value;
  }
}

const publicKeyTypes: readonly unknown[] = ["RSA", "EC", "OKP"];

/** Keeps the public keys; a symmetric key has no place in a set that anyone may read. */
function parseKeySet(value: object): JSONWebKeySet {
  const { keys } = value as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error("its key set has no keys");
  if (keys.length > providerLimits.keysMax) throw new Error(`its key set has more than ${providerLimits.keysMax} keys`);
  const usable = keys.filter((key: unknown) => publicKeyTypes.includes((key as { kty?: unknown } | null)?.kty));
  return { keys: usable };
}

function providerLost() {
  return unavailable("the identity provider can't be reached; try again");
}

/** The reason of a failed fetch is in the cause of what fetch throws. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
