import assert from "node:assert/strict";
import { test } from "node:test";
import type { Principal } from "../../engine/auth/principal.ts";
import { CollectionService } from "../../gen/service/collection/v1/collection_pb.ts";
import { DocumentService } from "../../gen/service/collection/v1/document_pb.ts";
import { NamespaceService } from "../../gen/service/collection/v1/namespace_pb.ts";
import { QueryService } from "../../gen/service/collection/v1/query_pb.ts";
import { authorizeCall, authorizeMessage } from "./access.ts";

const base = { id: "k", kind: "service_account", displayName: "k", method: "apikey" } as const;

function allows(step: () => void): boolean {
  try {
    step();
    return true;
  } catch (error) {
    assert.equal((error as { reason?: string }).reason, "permission_denied");
    return false;
  }
}

test("no call of the collection package escapes the check of its namespace", () => {
  const scoped: Principal = { ...base, role: "admin", namespaces: ["mine"] };
  for (const service of [NamespaceService, CollectionService, DocumentService, QueryService]) {
    for (const method of service.methods) {
      const path = `/${service.typeName}/${method.name}`;
      if (method.name === "CreateNamespace") {
        assert.equal(
          allows(() => authorizeCall(scoped, path)),
          false,
          path,
        );
        continue;
      }
      assert.ok(
        allows(() => authorizeCall(scoped, path)),
        path,
      );
      assert.ok(
        allows(() => authorizeMessage(scoped, path, { namespace: "mine" })),
        path,
      );
      assert.equal(
        allows(() => authorizeMessage(scoped, path, { namespace: "other" })),
        false,
        path,
      );
      assert.equal(
        allows(() => authorizeMessage(scoped, path, {})),
        false,
        path,
      );
    }
  }
});

test("roles", () => {
  const table = [
    ["NamespaceService/CreateNamespace", false, false, true],
    ["CollectionService/CreateCollection", false, false, true],
    ["CollectionService/GetCollection", true, true, true],
    ["DocumentService/WriteDocuments", false, true, true],
    ["DocumentService/DeleteByFilter", false, true, true],
    ["QueryService/Search", true, true, true],
  ] as const;
  for (const [call, ...wanted] of table) {
    for (const [i, role] of (["reader", "writer", "admin"] as const).entries()) {
      const path = `/service.collection.v1.${call}`;
      assert.equal(
        allows(() => authorizeCall({ ...base, role }, path)),
        wanted[i],
        `${role} ${call}`,
      );
    }
  }
});
