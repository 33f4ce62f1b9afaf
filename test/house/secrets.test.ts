import assert from "node:assert/strict";
import { test } from "node:test";
import { findSecrets } from "../support/secrets.ts";

/** Made here from parts: the whole forms would be found in this file. */
const forms: Readonly<Record<string, string>> = {
  "a private key": ["-----BEGIN RSA", "PRIVATE KEY-----"].join(" "),
  "a private JWK": `{"kty":"OKP","d":"${"A".repeat(43)}"}`,
  "a key of this service": `nek_${"0".repeat(16)}_${"a".repeat(48)}`,
  "a key of a cloud provider": `AKIA${"A".repeat(16)}`,
  "a key of an API": `sk-live-${"a".repeat(24)}`,
  "a token of a code host": `ghp_${"a".repeat(36)}`,
  "a token of a package registry": `npm_${"a".repeat(36)}`,
  "a token of a chat": `xoxb-${"1".repeat(12)}`,
  "a signed token": `eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(20)}`,
  "a password in an address": `postgres://user:${"hunter2"}@db.example`,
};

test("each form of a secret is found, with its line", () => {
  for (const [kind, form] of Object.entries(forms)) {
    assert.deepEqual(findSecrets(`one\ntwo ${form} three\n`), [{ line: 2, kind }]);
    assert.deepEqual(findSecrets(`// not-a-secret\n${form}`), []);
  }
});

test("what is no secret is not taken for one", () => {
  const harmless = [
    "https://user@example.com/path",
    "postgres://$USER:$PASSWORD@localhost/db",
    "postgres://USER:<KEY>@localhost/db",
    "Authorization: Bearer <API_KEY>",
    "nek_ and 16 hex digits",
    `"d": "short"`,
  ];
  for (const each of harmless) assert.deepEqual(findSecrets(each), [], each);
});
