import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../port/clock.ts";
import { LruMap } from "../../port/lru-map.ts";
import type { Random } from "../../port/random.ts";
import type { Store } from "../../port/store.ts";
import { EngineError, invalid, notFound } from "../errors.ts";
import { parseName } from "../ids.ts";
import type { FixedKey } from "./fixed-keys.ts";
import { decodeRecord, encodeRecord, type KeyRecord, type KeyStatus, statusOf } from "./key-record.ts";
import {
  claimedKeyId,
  hashKey,
  idEnd,
  idStart,
  isWellFormedKey,
  keyDigest,
  keyHashBytes,
  newKeyText,
} from "./key-text.ts";
import { isRole, type Principal, type Role } from "./principal.ts";

export const keyLimits = {
  /** Keys in the store, ended ones included. */
  keysMax: 10_000,
  /** Decoded records kept in memory. */
  decodedKeysMax: 1_000,
  /** Keys in use whose hash needs not be made again. */
  verifiedKeysMax: 256,
  /** Namespaces that one key is for. */
  namespacesMax: 100,
  lifetimeMsMax: 100 * 365 * 24 * 3_600_000,
  /** How long an ended key stays in the list before a later creation removes it. */
  endedKeyKeptMs: 90 * 24 * 3_600_000,
} as const;

export interface ApiKeyInfo {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly namespaces?: readonly string[];
  readonly createdMs: number;
  readonly expiresMs?: number;
  readonly revokedMs?: number;
  readonly status: KeyStatus;
  /** Last use seen by this process; not stored. */
  readonly lastUsedMs?: number;
}

export interface CreateKey {
  readonly name: string;
  readonly role: Role;
  /** The only ones that the key is for; without them, all. They need not exist yet. */
  readonly namespaces?: readonly string[];
  /** Time from now after which the key is refused; without it the key does not expire. */
  readonly lifetimeMs?: number;
}

export interface CreatedKey {
  readonly info: ApiKeyInfo;
  /** The key itself. It is not stored and can't be had again. */
  readonly key: string;
}

/** Why a key was not accepted; `expired` and `revoked` are shown only to a holder of the whole key. */
export type KeyRefusal = "unknown" | "expired" | "revoked";

export interface ApiKeysOptions {
  /** A store of its own, so that other processes can add and revoke keys while the server runs. */
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly fixed?: readonly FixedKey[];
}

interface Decoded {
  readonly bytes: Buffer;
  readonly record: KeyRecord;
  readonly principal: Principal;
  lastUsedMs: number | undefined;
  /** When the store was last seen to hold these very bytes for a key that is live. */
  seenLiveMs: number | undefined;
}

const storePrefix = "key/";
const storeFrom = Buffer.from("key/");
const storeTo = Buffer.from("key0");

/** API keys: those made here, kept in the store as hashes, and those that the settings give. */
export class ApiKeys {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #fixed: ReadonlyMap<string, { readonly hash: Uint8Array; readonly principal: Principal }>;
  readonly #fixedNames: ReadonlySet<string>;
  readonly #decoded = new LruMap<string, Decoded>(keyLimits.decodedKeysMax);
  /** Keys that were verified, with the very record by which they were: hashing takes three times as long as the look at it. */
  readonly #verified = new LruMap<string, Decoded>(keyLimits.verifiedKeysMax);
  // Reads of a store are synchronous, so one buffer serves every look-up without an allocation.
  readonly #keyScratch = Buffer.from(`${storePrefix}0000000000000000`);
  readonly #hashScratch = Buffer.alloc(keyHashBytes);

  constructor({ store, clock, random, fixed = [] }: ApiKeysOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
    this.#fixed = new Map(
      fixed.map((key) => [
        Buffer.from(key.hash).toString("latin1"),
        { hash: key.hash, principal: principalOf(key.name, key.role, undefined) },
      ]),
    );
    this.#fixedNames = new Set(fixed.map((key) => key.name));
  }

  /**
   * Whom a key stands for. The store is asked in every millisecond in which the key comes, so a revocation holds from
   * the next request on that is sent once it was reported.
   */
  verify(text: string): Principal | KeyRefusal {
    const before = this.#verified.get(text);
    if (before !== undefined) {
      const nowMs = this.#clock.nowMs();
      if (before.seenLiveMs === nowMs) return before.principal;
      // The same text against the same stored bytes: the hash is the same too.
      const same = this.#load(text.slice(idStart, idEnd), before) === before;
      if (same && statusOf(before.record, nowMs) === "live") {
        before.lastUsedMs = nowMs;
        before.seenLiveMs = nowMs;
        return before.principal;
      }
      this.#verified.delete(text);
    }
    const digest = keyDigest(text);
    const hash = this.#hashScratch;
    hash.write(digest, "latin1");
    if (this.#fixed.size > 0) {
      const fixed = this.#fixed.get(digest);
      if (fixed !== undefined && timingSafeEqual(fixed.hash, hash)) return fixed.principal;
    }
    const id = claimedKeyId(text);
    if (id === undefined) return "unknown";
    const seen = this.#decoded.get(id);
    // The form is looked at only for an id that was not seen before: the hash decides in any case.
    const known = seen !== undefined || isWellFormedKey(text) ? this.#load(id, seen) : undefined;
    if (known === undefined || !timingSafeEqual(known.record.hash, hash)) return "unknown";
    const nowMs = this.#clock.nowMs();
    const status = statusOf(known.record, nowMs);
    if (status !== "live") return status;
    known.lastUsedMs = nowMs;
    this.#verified.set(text, known);
    return known.principal;
  }

  async create(command: CreateKey): Promise<CreatedKey> {
    const name = parseName("name", command.name);
    const namespaces = command.namespaces === undefined ? undefined : parseScope(command.namespaces);
    if (!isRole(command.role)) throw invalid("role", "must be admin, writer or reader");
    const createdMs = this.#clock.nowMs();
    const { lifetimeMs } = command;
    if (lifetimeMs !== undefined && !(lifetimeMs >= 1 && lifetimeMs <= keyLimits.lifetimeMsMax)) {
      throw invalid("expires", "must be more than 0 and at most 100 years");
    }
    const expiresMs = lifetimeMs === undefined ? undefined : createdMs + Math.round(lifetimeMs);
    if (this.#fixedNames.has(name)) throw nameInUse(name);
    const all = this.list();
    if (all.some((key) => key.name === name && key.status === "live")) throw nameInUse(name);
    const outdated = all.filter((key) => isOutdated(key, createdMs));
    if (all.length - outdated.length >= keyLimits.keysMax) {
      throw new EngineError("failed_precondition", `there are ${keyLimits.keysMax} keys already; revoke some`);
    }
    const { id, text } = newKeyText(this.#random);
    const record: KeyRecord = {
      name,
      role: command.role,
      hash: hashKey(text),
      createdMs,
      ...(namespaces === undefined ? {} : { namespaces }),
      ...(expiresMs === undefined ? {} : { expiresMs }),
    };
    await this.#store.commit([
      ...outdated.map((key) => ({ kind: "delete", key: storeKey(key.id) }) as const),
      { kind: "put", key: storeKey(id), value: encodeRecord(record) },
    ]);
    await this.#withdrawIfTaken(id, name);
    return { info: infoOf(id, record, createdMs, undefined), key: text };
  }

  /** Every key of the store, by name, then from old to new. */
  list(): ApiKeyInfo[] {
    const nowMs = this.#clock.nowMs();
    const all: ApiKeyInfo[] = [];
    for (const { key, value } of this.#store.range({ from: storeFrom, to: storeTo })) {
      const id = Buffer.from(key).toString("latin1", storePrefix.length);
      all.push(infoOf(id, decodeRecord(id, value), nowMs, this.#decoded.get(id)?.lastUsedMs));
    }
    return all.sort((a, b) => (a.name === b.name ? a.createdMs - b.createdMs : a.name < b.name ? -1 : 1));
  }

  /** Whether there never was a key. */
  get isEmpty(): boolean {
    for (const _ of this.#store.keys({ from: storeFrom, to: storeTo, limit: 1 })) return false;
    return this.#fixed.size === 0;
  }

  /** Ends the live key of this name. Keys given by the settings are removed there. */
  async revoke(name: string): Promise<ApiKeyInfo> {
    if (this.#fixedNames.has(name)) {
      throw new EngineError("failed_precondition", `the key ${name} is given by SERVICE_API_KEYS; remove it there`);
    }
    const live = this.list().find((key) => key.name === name && key.status === "live");
    if (live === undefined) throw notFound(`no live key has the name ${name}`);
    const key = storeKey(live.id);
    const bytes = this.#store.get(key);
    if (bytes === undefined) throw notFound(`no live key has the name ${name}`);
    const revokedMs = this.#clock.nowMs();
    const record = { ...decodeRecord(live.id, bytes), revokedMs };
    await this.#store.commit([{ kind: "put", key, value: encodeRecord(record) }]);
    this.#verified.clear();
    return infoOf(live.id, record, revokedMs, live.lastUsedMs);
  }

  /**
   * Two processes may have made a key of one name at the same time. Each looks again after its commit, so at least
   * the later one sees both; who sees another takes its own key back, which nobody has been shown yet.
   */
  async #withdrawIfTaken(id: string, name: string): Promise<void> {
    const other = this.list().some((key) => key.id !== id && key.name === name && key.status === "live");
    if (!other) return;
    await this.#store.commit([{ kind: "delete", key: storeKey(id) }]);
    throw nameInUse(name);
  }

  #load(id: string, known: Decoded | undefined): Decoded | undefined {
    this.#keyScratch.write(id, storePrefix.length, "latin1");
    const bytes = this.#store.get(this.#keyScratch);
    if (bytes === undefined) {
      this.#decoded.delete(id);
      return undefined;
    }
    if (known?.bytes.equals(bytes)) return known;
    const record = decodeRecord(id, bytes);
    const principal = principalOf(record.name, record.role, record.namespaces);
    const decoded: Decoded = {
      bytes: Buffer.from(bytes),
      record,
      principal,
      lastUsedMs: known?.lastUsedMs,
      seenLiveMs: undefined,
    };
    this.#decoded.set(id, decoded);
    return decoded;
  }
}

function parseScope(names: readonly string[]): readonly string[] {
  const namespaces = [...new Set(names.map((each) => parseName("namespace", each)))].sort();
  if (namespaces.length === 0 || namespaces.length > keyLimits.namespacesMax) {
    throw invalid("namespaces", `must be 1 to ${keyLimits.namespacesMax} names`);
  }
  return namespaces;
}

function principalOf(name: string, role: Role, namespaces: readonly string[] | undefined): Principal {
  return {
    id: `apikey:${name}`,
    kind: "service_account",
    displayName: name,
    role,
    method: "apikey",
    ...(namespaces === undefined ? {} : { namespaces }),
  };
}

function infoOf(id: string, record: KeyRecord, nowMs: number, lastUsedMs: number | undefined): ApiKeyInfo {
  const { hash: _, ...open } = record;
  return { id, ...open, status: statusOf(record, nowMs), ...(lastUsedMs === undefined ? {} : { lastUsedMs }) };
}

function isOutdated(key: ApiKeyInfo, nowMs: number): boolean {
  const endedMs = key.revokedMs ?? key.expiresMs;
  return endedMs !== undefined && endedMs < nowMs - keyLimits.endedKeyKeptMs;
}

function storeKey(id: string): Buffer {
  return Buffer.from(storePrefix + id);
}

function nameInUse(name: string): EngineError {
  return new EngineError("already_exists", `a live key has the name ${name}`);
}
