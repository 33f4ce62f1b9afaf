import type { ApiKeys, KeyRefusal } from "../../engine/auth/keys.ts";
import { devLoopback, type Principal } from "../../engine/auth/principal.ts";
import { EngineError, unavailable } from "../../engine/errors.ts";
import type { Clock } from "../../port/clock.ts";
import { LruMap } from "../../port/lru-map.ts";
import { StoreError } from "../../port/store.ts";
import { isLoopback } from "./address.ts";
import type { AuthConfig } from "./config.ts";
import { type Approach, LocalGate } from "./local-gate.ts";
import { MeshIdentifier } from "./mesh.ts";
import { looksLikeToken, OidcVerifier, oidcLimits } from "./oidc.ts";
import { notAdmitted, unauthenticated } from "./refusal.ts";
import { Throttle } from "./throttle.ts";

/** What an edge knows of who is calling. */
export interface AuthRequest {
  /** The Authorization header. An edge with passwords passes one as `Bearer <password>`. */
  readonly authorization?: string | undefined;
  /** The peer of the socket, never an address from a header. */
  readonly remoteAddress: string | undefined;
  readonly remotePort?: number | undefined;
  /** Aborted when the caller has gone, so that its answer is no longer held back. */
  readonly signal?: AbortSignal | undefined;
}

export interface Authenticator {
  /** Why this request is refused before anyone asks who makes it; also for what needs no credential. */
  screen(approach: Approach & { readonly authorization: string | undefined }): EngineError | undefined;
  /** The principal, at once where nobody has to be asked; else a promise. Every refusal is a rejected promise. */
  authenticate(request: AuthRequest): Principal | Promise<Principal>;
  /** Asks the identity provider for its keys ahead of the first request; its absence is no error. */
  prepare(): void;
  close(): void;
}

export interface AuthenticatorDeps {
  readonly keys: ApiKeys;
  readonly clock: Clock;
  /** For the operator's log: a provider or daemon that is lost or back. */
  readonly report?: (message: string) => void;
  /** Origins whose pages may call. */
  readonly origins?: readonly string[];
  readonly publicUrl?: string | undefined;
  /** Whether clients come over TLS: a browser then finds out by the certificate that a name is not the server's. */
  readonly hasTls?: boolean;
}

export function createAuthenticator(config: AuthConfig, deps: AuthenticatorDeps): Authenticator {
  return config.modes.includes("off") ? new OpenAuthenticator(deps) : new CredentialAuthenticator(config, deps);
}

class OpenAuthenticator implements Authenticator {
  readonly #gate: LocalGate;

  constructor({ origins = [], publicUrl }: AuthenticatorDeps) {
    this.#gate = new LocalGate({ hosts: "loopback", origins, publicUrl });
  }

  screen(approach: Approach): EngineError | undefined {
    return this.#gate.refusal(approach);
  }

  authenticate({ remoteAddress }: AuthRequest): Principal | Promise<Principal> {
    // The listeners are on loopback, so nobody else can come; if one is not, nobody else gets in.
    if (remoteAddress !== undefined && remoteAddress !== "" && !isLoopback(remoteAddress)) {
      return Promise.reject(notAdmitted("authentication is off: only callers on this machine are admitted"));
    }
    return devLoopback;
  }

  prepare(): void {}

  close(): void {}
}

const schemeLength = "Bearer ".length;
const credentialCharactersMax = oidcLimits.tokenCharactersMax;
/** Headers whose credential is remembered. */
const credentialsKeptMax = 256;

const keyRefusals: Readonly<Record<KeyRefusal, string>> = {
  unknown: "the credential is not valid",
  expired: "the API key has expired",
  revoked: "the API key has been revoked",
};

class CredentialAuthenticator implements Authenticator {
  readonly #keys: ApiKeys | undefined;
  readonly #oidc: OidcVerifier | undefined;
  readonly #mesh: MeshIdentifier | undefined;
  readonly #throttle: Throttle;
  readonly #credentials = new LruMap<string, string>(credentialsKeptMax);
  /** A mesh user is known by the connection alone, which a page in that user's browser shares. */
  readonly #gate: LocalGate | undefined;

  constructor(config: AuthConfig, deps: AuthenticatorDeps) {
    const { keys, clock, report = () => {}, origins = [], publicUrl, hasTls = false } = deps;
    this.#keys = config.modes.includes("apikey") ? keys : undefined;
    this.#oidc = config.oidc && new OidcVerifier({ config: config.oidc, clock, report });
    this.#mesh = config.mesh && new MeshIdentifier({ config: config.mesh, clock, report });
    this.#gate = config.mesh && new LocalGate({ hosts: hasTls ? "any" : "own", origins, publicUrl });
    this.#throttle = new Throttle(clock);
  }

  screen(approach: Approach & { readonly authorization: string | undefined }): EngineError | undefined {
    if (this.#gate === undefined) return undefined;
    const judgedByCredential = approach.authorization !== undefined && this.#takesCredentials;
    return judgedByCredential ? undefined : this.#gate.refusal(approach);
  }

  authenticate(request: AuthRequest): Principal | Promise<Principal> {
    const { authorization } = request;
    // A caller that names a credential is judged by it, even where its address alone would have let it in.
    if (authorization === undefined || !this.#takesCredentials) {
      if (this.#mesh !== undefined) return this.#mesh.identify(request.remoteAddress ?? "", request.remotePort);
      return Promise.reject(unauthenticated("a credential is needed: Authorization: Bearer <credential>"));
    }
    const credential = this.#credentialOf(authorization);
    if (credential === undefined) {
      return this.#refuse(request, unauthenticated("the Authorization header must be Bearer and a credential"));
    }
    let refusal: KeyRefusal = "unknown";
    if (this.#keys !== undefined) {
      try {
        const verdict = this.#keys.verify(credential);
        if (typeof verdict === "object") return verdict;
        refusal = verdict;
      } catch (error) {
        return Promise.reject(error instanceof StoreError ? unavailable("the key store can't be read", error) : error);
      }
    }
    if (this.#oidc !== undefined && looksLikeToken(credential)) {
      const verdict = this.#oidc.verify(credential);
      return verdict instanceof Promise ? verdict.catch((error: unknown) => this.#refuse(request, error)) : verdict;
    }
    return this.#refuse(request, unauthenticated(keyRefusals[refusal]));
  }

  /** The same text each time for the same header, so that it needs not be cut out and looked at again. */
  #credentialOf(authorization: string): string | undefined {
    const known = this.#credentials.get(authorization);
    if (known !== undefined) return known;
    const credential = bearerOf(authorization);
    if (credential === undefined) return undefined;
    this.#credentials.set(authorization, credential);
    return credential;
  }

  get #takesCredentials(): boolean {
    return this.#keys !== undefined || this.#oidc !== undefined;
  }

  prepare(): void {
    this.#oidc?.prepare();
  }

  close(): void {
    this.#throttle.close();
    this.#oidc?.close();
    this.#mesh?.close();
  }

  /** Answers a credential that failed, later and later if its address keeps failing. */
  async #refuse(request: AuthRequest, error: unknown): Promise<never> {
    const isGuess =
      error instanceof EngineError && (error.reason === "unauthenticated" || error.reason === "token_expired");
    if (isGuess) await this.#throttle.failed(request.remoteAddress ?? "", request.signal);
    throw error;
  }
}

/** The credential of a Bearer header, or undefined for any other header. */
function bearerOf(authorization: string): string | undefined {
  if (authorization.length > schemeLength + credentialCharactersMax) return undefined;
  if (authorization.slice(0, schemeLength).toLowerCase() !== "bearer ") return undefined;
  const credential = authorization.slice(schemeLength).trim();
  return credential === "" ? undefined : credential;
}
