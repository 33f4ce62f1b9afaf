import type { AuditLog } from "../../engine/auth/audit.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError } from "../../engine/errors.ts";
import type { Clock } from "../../port/clock.ts";
import { LruMap } from "../../port/lru-map.ts";
import type { Authenticator, AuthRequest } from "./authenticator.ts";

/** A credential comes with every request: one from the same address is a new sign-in only after this long. */
const signInMs = 3_600_000;
/** Refusals of one address are recorded once in this time. */
const refusalMs = 60_000;
const addressesMax = 10_000;

/** Notes who comes in and who is refused. */
export class AuditedAuthenticator implements Authenticator {
  readonly #inner: Authenticator;
  readonly #audit: AuditLog;
  readonly #clock: Clock;
  /** When a principal was last noted, by its address: a look at each request, so the principal itself is the key. */
  readonly #seen = new WeakMap<Principal, LruMap<string, number>>();
  readonly #refused = new LruMap<string, number>(addressesMax);

  constructor(inner: Authenticator, audit: AuditLog, clock: Clock) {
    this.#inner = inner;
    this.#audit = audit;
    this.#clock = clock;
  }

  screen(approach: Parameters<Authenticator["screen"]>[0]): EngineError | undefined {
    return this.#inner.screen(approach);
  }

  authenticate(request: AuthRequest): Principal | Promise<Principal> {
    const found = this.#inner.authenticate(request);
    if (!(found instanceof Promise)) {
      this.#admitted(found, request);
      return found;
    }
    return found.then(
      (principal) => {
        this.#admitted(principal, request);
        return principal;
      },
      (error: unknown) => {
        this.#noteRefused(error, request);
        throw error;
      },
    );
  }

  prepare(): void {
    this.#inner.prepare();
  }

  close(): void {
    this.#inner.close();
  }

  #admitted(principal: Principal, { remoteAddress: address = "" }: AuthRequest): void {
    let addresses = this.#seen.get(principal);
    if (addresses === undefined) {
      addresses = new LruMap(addressesMax);
      this.#seen.set(principal, addresses);
    }
    const nowMs = this.#clock.nowMs();
    const noted = addresses.get(address);
    if (noted !== undefined && nowMs - noted < signInMs) return;
    addresses.set(address, nowMs);
    const { id, namespaces } = principal;
    this.#audit.record({ action: "sign_in", principal: id, address, namespace: namespaces?.join(","), outcome: "ok" });
  }

  #noteRefused(error: unknown, { remoteAddress: address = "", authorization }: AuthRequest): void {
    // Who brings no credential has not tried to sign in.
    if (!(error instanceof EngineError) || authorization === undefined) return;
    const nowMs = this.#clock.nowMs();
    const noted = this.#refused.get(address);
    if (noted !== undefined && nowMs - noted < refusalMs) return;
    this.#refused.set(address, nowMs);
    this.#audit.record({ action: "sign_in_refused", address, outcome: error.reason });
  }
}
