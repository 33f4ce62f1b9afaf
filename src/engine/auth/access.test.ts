import assert from "node:assert/strict";
import test from "node:test";
import { EngineError } from "../errors.ts";
import { authorize, type Need, needs, visibleNamespaces } from "./access.ts";
import { devLoopback, type Principal, type Role } from "./principal.ts";

function keyOf(role: Role, namespace?: string): Principal {
  return {
    id: "apikey:k",
    kind: "service_account",
    displayName: "k",
    role,
    method: "apikey",
    ...(namespace === undefined ? {} : { namespaces: [namespace] }),
  };
}

const principals = {
  off: devLoopback,
  admin: keyOf("admin"),
  writer: keyOf("writer"),
  reader: keyOf("reader"),
  "admin of a": keyOf("admin", "a"),
  "writer of a": keyOf("writer", "a"),
  "reader of a": keyOf("reader", "a"),
} as const;

const asked: Readonly<Record<string, Need>> = {
  self: needs.signedIn,
  "read a": needs.readIn("a"),
  "write a": needs.writeIn("a"),
  "admin a": needs.adminIn("a"),
  "read b": needs.readIn("b"),
  "write b": needs.writeIn("b"),
  "admin b": needs.adminIn("b"),
  "read instance": needs.readInstance,
  "admin instance": needs.adminInstance,
};

const everything = Object.keys(asked);
const matrix: Readonly<Record<keyof typeof principals, readonly string[]>> = {
  off: everything,
  admin: everything,
  writer: ["self", "read a", "write a", "read b", "write b", "read instance"],
  reader: ["self", "read a", "read b", "read instance"],
  "admin of a": ["self", "read a", "write a", "admin a"],
  "writer of a": ["self", "read a", "write a"],
  "reader of a": ["self", "read a"],
};

for (const [who, allowed] of Object.entries(matrix)) {
  test(`${who} may exactly: ${allowed.join(", ")}`, () => {
    const principal = principals[who as keyof typeof principals];
    const got = everything.filter((what) => {
      try {
        authorize(principal, asked[what]!);
        return true;
      } catch (error) {
        assert.ok(error instanceof EngineError);
        assert.equal(error.reason, "permission_denied");
        return false;
      }
    });
    assert.deepEqual(got, allowed);
  });
}

test("a list of namespaces shows a scoped key its own only", () => {
  const list = [{ name: "a" }, { name: "b" }];
  const names = (principal: Principal) => visibleNamespaces(principal, list, (item) => item.name).map((i) => i.name);
  assert.deepEqual(names(principals.reader), ["a", "b"]);
  assert.deepEqual(names(principals["admin of a"]), ["a"]);
  assert.deepEqual(names(keyOf("admin", "c")), []);
});
