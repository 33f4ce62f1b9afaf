import { CompactSign, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import type { Clock } from "../../port/clock.ts";
import { EngineError } from "../errors.ts";
import { type InstanceStore, instanceKeys, writeText } from "./store.ts";

const algorithm = "ES256";
/** Retired keys stay in the key set, so that what they signed can still be verified. */
const retiredKeysMax = 4;

interface SigningState {
  /** Private keys; `kid` is the RFC 7638 thumbprint. */
  readonly current: JWK;
  /** The key being rotated to, and its thumbprint signed by the current key. */
  readonly next?: { readonly key: JWK; readonly proof: string };
  /** Public keys, the latest first. */
  readonly retired: readonly JWK[];
}

export interface KeySet {
  readonly keys: readonly JWK[];
}

function publicPart({ d: _secret, ...rest }: JWK): JWK {
  return rest;
}

async function newKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: algorithm, use: "sig" };
}

async function signWith(key: JWK, type: string, payload: object): Promise<string> {
  return await new CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: algorithm, kid: key.kid ?? "", typ: type })
    .sign(await importJWK(key, algorithm));
}

interface Known {
  readonly bytes: Uint8Array;
  readonly state: SigningState;
}

/**
 * The instance's signing keys: one that signs, perhaps one to come, and those that have been. The store is asked each
 * time, since the command line rotates the keys of a running server.
 */
export class SigningKeys {
  readonly #store: InstanceStore;
  readonly #clock: Clock;
  #known: Known | undefined;

  private constructor(store: InstanceStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Makes the first key where there is none. */
  static async open(store: InstanceStore, clock: Clock): Promise<SigningKeys> {
    const keys = new SigningKeys(store, clock);
    if (store.get(instanceKeys.signing) === undefined) await keys.#save({ current: await newKey(), retired: [] });
    return keys;
  }

  get #state(): SigningState {
    const bytes = this.#store.get(instanceKeys.signing);
    if (bytes === undefined) throw new EngineError("internal", "the signing keys are gone");
    if (this.#known === undefined || Buffer.compare(this.#known.bytes, bytes) !== 0) {
      this.#known = { bytes, state: JSON.parse(Buffer.from(bytes).toString()) as SigningState };
    }
    return this.#known.state;
  }

  /** The public keys, the signing one first. */
  get keySet(): KeySet {
    const { current, next, retired } = this.#state;
    return { keys: [current, ...(next === undefined ? [] : [next.key]), ...retired].map(publicPart) };
  }

  /** Identifies the key that signs now. */
  get currentKeyId(): string {
    return this.#state.current.kid ?? "";
  }

  /** The new key's thumbprint signed by the old key, while a rotation is under way. */
  get rotationProof(): string | undefined {
    return this.#state.next?.proof;
  }

  async sign(type: string, payload: object): Promise<string> {
    return await signWith(this.#state.current, type, payload);
  }

  /** Publishes a new key beside the old one, which goes on signing until the rotation is finished. */
  async startRotation(instanceId: string): Promise<void> {
    const state = this.#state;
    if (state.next !== undefined) throw new EngineError("failed_precondition", "a key rotation is under way");
    const key = await newKey();
    const proof = await signWith(state.current, "key-rotation", {
      iss: instanceId,
      iat: Math.floor(this.#clock.nowMs() / 1000),
      thumbprint: key.kid,
    });
    await this.#save({ ...state, next: { key, proof } });
  }

  /** From now on the new key signs. */
  async finishRotation(): Promise<void> {
    const { current, next, retired } = this.#state;
    if (next === undefined) throw new EngineError("failed_precondition", "no key rotation is under way");
    await this.#save({ current: next.key, retired: [publicPart(current), ...retired].slice(0, retiredKeysMax) });
  }

  async #save(state: SigningState): Promise<void> {
    await writeText(this.#store, instanceKeys.signing, JSON.stringify(state));
  }
}
