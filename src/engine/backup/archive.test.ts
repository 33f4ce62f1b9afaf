import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MemoryObjectStore } from "../../adapter/memory/object-store.ts";
import { MemoryStore } from "../../adapter/memory/store.ts";
import { SimulatedClock } from "../../adapter/simulated/clock.ts";
import { ObjectHold } from "../collection/object-hold.ts";
import { decodeEntries } from "./archive.ts";
import { Backups } from "./backups.ts";
import { readTar, tarEnd, tarHeader, tarPadding } from "./tar.ts";
import { verifyArchive } from "./verify.ts";

async function* cut(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

test("members of any name and size come back from an archive that is cut into pieces of any size", async () => {
  const name = fc
    .array(fc.stringMatching(/^[a-z0-9._-]{1,60}$/), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join("/"));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(name, fc.uint8Array({ maxLength: 1500 })), { maxLength: 4 }),
      fc.integer({ min: 1, max: 3000 }),
      async (members, size) => {
        const parts = members.flatMap(([each, data]) => [
          tarHeader(each, data.length, 1e12),
          data,
          tarPadding(data.length),
        ]);
        const archive = Buffer.concat([...parts, tarEnd]);
        assert.equal(archive.length % 512, 0);
        const found: [string, number[]][] = [];
        for await (const member of readTar(cut(archive, size))) {
          found.push([member.name, [...Buffer.concat(await Array.fromAsync(member.data))]]);
        }
        assert.deepEqual(
          found,
          members.map(([each, data]) => [each, [...data]]),
        );
      },
    ),
    { numRuns: 100 },
  );
});

test("a size beyond the octal field is kept", async () => {
  const bytes = 20 * 1024 ** 3;
  const members = readTar(cut(Buffer.concat([tarHeader("large", bytes, 0), Buffer.alloc(512)]), 512));
  const { value } = await members.next();
  assert.equal((value as { bytes: number }).bytes, bytes);
});

function backups(store: MemoryStore, authStore = new MemoryStore()) {
  const clock = new SimulatedClock(1_000_000);
  const hold = new ObjectHold();
  const objects = new MemoryObjectStore();
  return new Backups({ store, authStore, objects, hold, clock, serverVersion: "1.2.3", datasetFiles: () => [] });
}

const key = (i: number) => Buffer.from([0x60, i >> 8, i & 255]);

test("every entry of both stores is in the archive, large ones too, and writes after its start are not", async () => {
  const store = new MemoryStore();
  const auth = new MemoryStore();
  const value = (i: number) => Buffer.alloc(i === 7 ? 5_000_000 : 9_000, i);
  await store.commit(Array.from({ length: 300 }, (_, i) => ({ kind: "put", key: key(i), value: value(i) }) as const));
  await auth.commit([{ kind: "put", key: Buffer.of(1), value: Buffer.of(2) }]);
  const parts: Uint8Array[] = [];
  for await (const part of backups(store, auth).begin()) {
    if (parts.length === 1) await store.commit([{ kind: "put", key: key(5), value: Buffer.from("late") }]);
    parts.push(part);
  }
  const archive = Buffer.concat(parts);
  const found = { store: new Map<string, Buffer>(), auth: new Map<string, Buffer>() };
  const summary = await verifyArchive(cut(archive, 10_000), {
    entries: async (name, data) => {
      for (const each of decodeEntries(data))
        found[name].set(Buffer.from(each.key).toString("hex"), Buffer.from(each.value));
    },
  });
  assert.deepEqual(summary.entries, { store: 300, auth: 1 });
  assert.equal(summary.head.server_version, "1.2.3");
  for (let i = 0; i < 300; i++) assert.ok(found.store.get(key(i).toString("hex"))!.equals(value(i)), String(i));
  assert.ok(found.auth.get("01")!.equals(Buffer.of(2)));
});

test("an archive that differs in any bit is refused", async () => {
  const store = new MemoryStore();
  await store.commit(
    Array.from({ length: 20 }, (_, i) => ({ kind: "put", key: key(i), value: Buffer.alloc(20, i) }) as const),
  );
  const archive = Buffer.concat(await Array.fromAsync(backups(store).begin()));
  await verifyArchive(cut(archive, 1000));
  // The end of an archive is zeros that nobody reads.
  const read = archive.length - 1024;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: read - 1 }), fc.integer({ min: 0, max: 7 }), async (at, bit) => {
      const block = Math.floor(at / 512) * 512;
      const changed = Buffer.from(archive);
      changed[at] = changed[at]! ^ (1 << bit);
      // What pads a member is no part of it.
      const padding = archive.subarray(at, block + 512).every((byte) => byte === 0);
      if (padding) return;
      await assert.rejects(verifyArchive(cut(changed, 1000)), `bit ${bit} of byte ${at}`);
    }),
    { numRuns: 300 },
  );
  for (const length of [0, 100, 512, 1024, read - 512, read]) {
    await assert.rejects(verifyArchive(cut(archive.subarray(0, length), 700)), `${length} bytes`);
  }
});

test("one backup at a time, and one that is left makes room for the next", async () => {
  const store = new MemoryStore();
  await store.commit([{ kind: "put", key: key(1), value: Buffer.of(1) }]);
  const each = backups(store);
  const first = each.begin();
  await first.next();
  assert.throws(() => each.begin(), { reason: "resource_exhausted" });
  await first.return(undefined);
  await Array.fromAsync(each.begin());
});

test("a hold waits for the step under way, and steps know of it", async () => {
  const hold = new ObjectHold();
  const events: string[] = [];
  let finish = () => {};
  const step = hold.step(async () => {
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
    events.push(`step ${hold.isHeld}`);
  });
  const taking = hold.hold(() => {
    events.push("taken");
    return { [Symbol.dispose]: () => void events.push("disposed") };
  });
  const next = hold.step(async () => void events.push(`next ${hold.isHeld}`));
  finish();
  await step;
  const held = await taking;
  await next;
  held[Symbol.dispose]();
  held[Symbol.dispose]();
  await hold.step(async () => void events.push(`last ${hold.isHeld}`));
  assert.deepEqual(events, ["step false", "taken", "next true", "disposed", "last false"]);
});
