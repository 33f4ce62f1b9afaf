import assert from "node:assert/strict";
import { test } from "node:test";
import { rootCertificates } from "node:tls";
import { selfSigned } from "../../test/listener/certificate.ts";
import { isPrivate } from "./certificate.ts";

test("a certificate is private unless its chain ends at a public authority", () => {
  const own = selfSigned("own").cert;
  assert.equal(isPrivate(own), true);
  assert.equal(isPrivate(rootCertificates[0]!), false);
  assert.equal(isPrivate(`${own}\n${rootCertificates[1]}`), false);
  assert.equal(isPrivate(`${rootCertificates[1]}\n${own}`), true);
});
