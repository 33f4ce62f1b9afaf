import { invalid } from "../errors.ts";
import { parseName } from "../ids.ts";
import { hashKey } from "./key-text.ts";
import { isRole, type Role } from "./principal.ts";

/** A key given by the operator's settings rather than made by this program; only its hash is kept. */
export interface FixedKey {
  readonly name: string;
  readonly role: Role;
  readonly hash: Uint8Array;
  /** Too short to resist guessing over a network. */
  readonly weak: boolean;
}

const fixedKeyLimits = {
  keysMax: 1_000,
  keyCharactersMax: 512,
  /** Shorter keys are accepted with a warning. */
  strongKeyCharactersMin: 24,
} as const;

/** What an Authorization header can carry, without the separator. */
const keyPattern = /^[!-+\--~]+$/;
const shape = "must be name:role:key, with role admin, writer or reader";

/**
 * Parses `name:role:key,…`; line ends separate too, since the setting may come from a file. A message names an entry
 * by its position alone: in a malformed entry any part may turn out to be the key.
 */
export function parseFixedKeys(field: string, text: string): readonly FixedKey[] {
  const entries = text.split(/[,\r\n]/).map((entry) => entry.trim());
  const present = entries.filter((entry) => entry !== "");
  if (present.length > fixedKeyLimits.keysMax) throw invalid(field, `has more than ${fixedKeyLimits.keysMax} keys`);
  const keys = present.map((entry, i) => parseEntry(`${field}[${i}]`, entry));
  const names = new Set<string>();
  const hashes = new Set<string>();
  keys.forEach((key, i) => {
    const digest = Buffer.from(key.hash).toString("latin1");
    if (names.has(key.name)) throw invalid(`${field}[${i}]`, "has the name of an earlier entry");
    if (hashes.has(digest)) throw invalid(`${field}[${i}]`, "has the key of an earlier entry");
    names.add(key.name);
    hashes.add(digest);
  });
  return keys;
}

function parseEntry(field: string, entry: string): FixedKey {
  const first = entry.indexOf(":");
  const second = entry.indexOf(":", first + 1);
  if (first < 0 || second < 0) throw invalid(field, shape);
  const name = parseName(field, entry.slice(0, first));
  const role = entry.slice(first + 1, second);
  const key = entry.slice(second + 1);
  if (!isRole(role)) throw invalid(field, shape);
  if (key.length === 0 || key.length > fixedKeyLimits.keyCharactersMax || !keyPattern.test(key)) {
    throw invalid(
      field,
      `its key must have 1 to ${fixedKeyLimits.keyCharactersMax} printable ASCII characters, no space`,
    );
  }
  return { name, role, hash: hashKey(key), weak: key.length < fixedKeyLimits.strongKeyCharactersMin };
}
