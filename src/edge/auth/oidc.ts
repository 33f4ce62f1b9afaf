import { hash } from "node:crypto";
import { errors, type JWTPayload, jwtVerify } from "jose";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError } from "../../engine/errors.ts";
import type { Clock } from "../../port/clock.ts";
import { LruMap } from "../../port/lru-map.ts";
import { roleOfUser } from "./admission.ts";
import type { OidcConfig } from "./config.ts";
import { ProviderKeys } from "./provider-keys.ts";
import { tokenExpired, unauthenticated } from "./refusal.ts";

export const oidcLimits = {
  tokenCharactersMax: 12 * 1024,
  /** How far the clocks of provider and server may be apart. */
  clockSkewMs: 30_000,
  /** Tokens whose check is remembered, and for how long. */
  verifiedTokensMax: 2_000,
  verifiedTokenKeptMs: 60_000,
  /** Keys tried for a token that names none. */
  candidateKeysMax: 8,
  subjectCharactersMax: 255,
  displayCharactersMax: 200,
} as const;

/** Signatures by a private key only: with a shared secret, who can check a token could also make one. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

const tokenPattern = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;

/** Whether a credential has the form of a signed token, so that a failure is reported as one of a token. */
export function looksLikeToken(credential: string): boolean {
  return tokenPattern.test(credential);
}

interface Verified {
  readonly principal: Principal;
  readonly untilMs: number;
  readonly generation: number;
}

export interface OidcOptions {
  readonly config: OidcConfig;
  readonly clock: Clock;
  readonly report: (message: string) => void;
}

/** Access tokens of an OpenID Connect provider. */
export class OidcVerifier {
  readonly #config: OidcConfig;
  readonly #clock: Clock;
  readonly #keys: ProviderKeys;
  readonly #verified = new LruMap<string, Verified>(oidcLimits.verifiedTokensMax);

  constructor({ config, clock, report }: OidcOptions) {
    this.#config = config;
    this.#clock = clock;
    this.#keys = new ProviderKeys({ issuer: config.issuer, clock, report });
  }

  prepare(): void {
    this.#keys.prepare();
  }

  close(): void {
    this.#keys.close();
  }

  /** At once for a token that was verified a moment ago. */
  verify(token: string): Principal | Promise<Principal> {
    if (token.length > oidcLimits.tokenCharactersMax)
      return Promise.reject(unauthenticated("the access token is too long"));
    const digest = hash("sha256", token, "binary");
    const known = this.#verified.get(digest);
    if (known !== undefined) {
      if (known.generation === this.#keys.generation && this.#clock.nowMs() < known.untilMs) return known.principal;
      this.#verified.delete(digest);
    }
    return this.#verify(token, digest);
  }

  async #verify(token: string, digest: string): Promise<Principal> {
    const nowMs = this.#clock.nowMs();
    const { generation } = this.#keys;
    const claims = await this.#claims(token, nowMs);
    const role = roleOfUser(claims, this.#config);
    const principal: Principal = {
      id: claims.sub!,
      kind: "user",
      displayName: displayName(claims),
      role,
      method: "oidc",
      ...(typeof claims["email"] === "string" ? { email: claims["email"] } : {}),
    };
    const untilMs = Math.min(nowMs + oidcLimits.verifiedTokenKeptMs, claims.exp! * 1000 + oidcLimits.clockSkewMs);
    // Keys that were fetched meanwhile may be without the one that verified this token.
    if (generation === this.#keys.generation) this.#verified.set(digest, { principal, untilMs, generation });
    return principal;
  }

  async #claims(token: string, nowMs: number): Promise<JWTPayload> {
    const options = {
      issuer: this.#config.issuer,
      audience: [...this.#config.audiences],
      algorithms,
      clockTolerance: oidcLimits.clockSkewMs / 1000,
      currentDate: new Date(nowMs),
      requiredClaims: ["sub", "exp"],
    };
    let claims: JWTPayload;
    try {
      claims = (await jwtVerify(token, this.#keys.find, options).catch((error) => anyOf(error, token, options)))
        .payload;
    } catch (error) {
      throw refusalOf(error);
    }
    const { sub } = claims;
    if (typeof sub !== "string" || sub === "" || sub.length > oidcLimits.subjectCharactersMax) {
      throw unauthenticated("the access token names no usable subject");
    }
    return claims;
  }
}

/** A token that names no key, from a provider with several that fit: one of them has to verify it. */
async function anyOf(error: unknown, token: string, options: Parameters<typeof jwtVerify>[2]) {
  if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
  let tried = 0;
  for await (const key of error) {
    tried += 1;
    if (tried > oidcLimits.candidateKeysMax) break;
    try {
      return await jwtVerify(token, key, options);
    } catch (failure) {
      if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
    }
  }
  throw new errors.JWSSignatureVerificationFailed();
}

/** The errors of the library hold the claims, so they are neither passed on nor kept as a cause. */
function refusalOf(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  if (error instanceof errors.JWTExpired) return tokenExpired();
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === "aud") return unauthenticated("the access token is for another audience");
    if (error.claim === "iss") return unauthenticated("the access token is of another issuer");
    if (error.claim === "nbf") return unauthenticated("the access token is not valid yet");
    return unauthenticated("the access token lacks a claim that is needed");
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return unauthenticated("the access token's algorithm is not allowed");
  if (error instanceof errors.JWKSNoMatchingKey) return unauthenticated("the access token's key is not known");
  return unauthenticated("the access token is not valid");
}

function displayName(claims: JWTPayload): string {
  for (const name of ["name", "preferred_username", "email"]) {
    const value = claims[name];
    if (typeof value === "string" && value !== "") return value.slice(0, oidcLimits.displayCharactersMax);
  }
  return claims.sub!;
}
