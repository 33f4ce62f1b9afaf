import assert from "node:assert/strict";
import { test } from "node:test";
import type { Member } from "../../../src/adapter/replicated/member.ts";
import { SimulatedBucket, SimulatedNode } from "./node.ts";
import { SimulatedBroker } from "./shared-log.ts";
import { World } from "./world.ts";

test("a drained node leaves the place to others, over its restarts, and takes it only when nobody else is there", async () => {
  const world = new World(3);
  const broker = new SimulatedBroker(world);
  const bucket = new SimulatedBucket();
  const [a, b] = ["a", "b"].map((name) => new SimulatedNode(name, world, broker, bucket, {}, {})) as [
    SimulatedNode,
    SimulatedNode,
  ];
  const roleOf = ({ log }: SimulatedNode) => log?.member.role;
  await a.start();
  await world.run(10_000);
  await b.start();
  await world.run(10_000);
  assert.equal(roleOf(a), "owner");
  await assert.rejects(b.log!.member.drain("a", true), { kind: "fenced" });

  const drained = Promise.all([a.log!.member.drain("a", true), a.log!.member.drain("c", true)]);
  await world.run(1_000);
  await drained;
  assert.ok(a.log!.member.hasHeir("a"));
  assert.ok(!a.log!.member.hasHeir("b"));
  const left = a.log!.member.leave();
  await world.run(2_000);
  await left;
  assert.equal(roleOf(b), "owner");
  assert.deepEqual(b.log!.member.drained, ["a", "c"]);

  a.kill();
  await a.start();
  await world.run(10_000);
  const given = b.log!.member.leave();
  await world.run(20_000);
  await given;
  assert.equal(roleOf(b), "owner", "the only other one is drained");
  b.kill();
  await world.run(30_000);
  assert.equal(roleOf(a), "owner", "better it than nobody");
  const undone = a.log!.member.drain("a", false);
  await world.run(1_000);
  await undone;
  assert.deepEqual(a.log!.member.drained, ["c"]);
});

test("a node whose disk is full leaves the place to one that has room, and keeps it where none has", async () => {
  const world = new World(4);
  const broker = new SimulatedBroker(world);
  const bucket = new SimulatedBucket();
  const nodes = ["a", "b"].map((name) => new SimulatedNode(name, world, broker, bucket, {}, {}));
  for (const node of nodes) {
    await node.start();
    await world.run(10_000);
  }
  const [a, b] = nodes.map(({ log }) => log!.member) as [Member, Member];
  assert.equal(a.role, "owner");
  assert.ok(a.hasHeir("a"));
  b.isFull = true;
  await world.run(5_000);
  assert.ok(!a.hasHeir("a"), "the other one has told that it has no room");
  const left = a.leave();
  await world.run(20_000);
  await left;
  assert.equal(a.role, "owner");
  nodes[0]!.kill();
  await world.run(20_000);
  assert.equal(b.role, "owner", "better it than nobody");
});
