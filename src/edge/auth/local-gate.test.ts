import assert from "node:assert/strict";
import { test } from "node:test";
import { LocalGate } from "./local-gate.ts";

const listed = "https://app.example.com";

function reasonOf(gate: LocalGate, method: string, host: string | undefined, origin?: string): string {
  return gate.refusal({ method, host, origin })?.reason ?? "passes";
}

test("with authentication off only names of this machine are answered to", () => {
  const gate = new LocalGate({ hosts: "loopback", origins: [], publicUrl: undefined });
  const table: [host: string | undefined, want: string][] = [
    ["localhost", "passes"],
    ["localhost:8080", "passes"],
    ["localhost.:8080", "passes"],
    ["a.b.localhost:1", "passes"],
    ["127.0.0.1:8080", "passes"],
    ["127.1.2.3", "passes"],
    ["[::1]:8080", "passes"],
    [undefined, "passes"],
    ["evil.example:8080", "permission_denied"],
    ["localhost.evil.example", "permission_denied"],
    ["notlocalhost", "permission_denied"],
    ["127.0.0.1.evil.example", "permission_denied"],
    ["192.168.0.1", "permission_denied"],
    ["[::2]", "permission_denied"],
    ["user@localhost", "invalid_argument"],
    ["localhost/x", "invalid_argument"],
    ["", "invalid_argument"],
  ];
  for (const [host, want] of table) {
    // Twice, since the last good one is remembered.
    for (const method of ["GET", "POST"]) assert.equal(reasonOf(gate, method, host), want, host);
  }
});

test("where callers are known by their address, only names that nobody else owns are answered to", () => {
  const gate = new LocalGate({ hosts: "own", origins: [listed, "http://engine:8080"], publicUrl: "http://e.example" });
  const table: [host: string | undefined, want: string][] = [
    ["100.64.0.1:8080", "passes"],
    ["[fd7a::1]:8080", "passes"],
    ["localhost:8080", "passes"],
    ["e.example", "passes"],
    ["app.example.com", "passes"],
    ["engine:8080", "passes"],
    [undefined, "passes"],
    ["evil.example:8080", "permission_denied"],
    ["e.example:81", "permission_denied"],
    ["100.64.0.1.evil.example", "permission_denied"],
    ["a b", "invalid_argument"],
  ];
  for (const [host, want] of table) {
    for (const method of ["GET", "POST"]) assert.equal(reasonOf(gate, method, host), want, host);
  }
});

test("pages may change things only from the server's own origin and from listed ones", () => {
  const off = new LocalGate({ hosts: "loopback", origins: [listed], publicUrl: undefined });
  const mesh = new LocalGate({ hosts: "any", origins: [listed], publicUrl: "https://engine.example" });
  const table: [gate: LocalGate, host: string, origin: string, want: string][] = [
    [off, "localhost:8080", "http://localhost:8080", "passes"],
    [off, "localhost:8080", "https://localhost:8080", "passes"],
    [off, "localhost:8080", listed, "passes"],
    [off, "localhost:8080", "http://localhost:8081", "permission_denied"],
    [off, "localhost:8080", "http://127.0.0.1:8080", "permission_denied"],
    [off, "localhost:8080", "null", "permission_denied"],
    [mesh, "100.64.0.1:8080", "http://100.64.0.1:8080", "passes"],
    [mesh, "[fd7a::1]:8080", "http://[fd7a::1]:8080", "passes"],
    [mesh, "engine.example", "https://engine.example", "passes"],
    [mesh, "engine.example", listed, "passes"],
    // Whoever owns that name may let it resolve to any address.
    [mesh, "evil.example:8080", "http://evil.example:8080", "permission_denied"],
    [mesh, "100.64.0.1:8080", "http://evil.example", "permission_denied"],
  ];
  for (const [gate, host, origin, want] of table) {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "BREW"]) {
      assert.equal(reasonOf(gate, method, host, origin), want, `${method} ${host} ${origin}`);
    }
    for (const method of ["GET", "HEAD", "OPTIONS"]) assert.equal(reasonOf(gate, method, host, origin), "passes");
  }
});
