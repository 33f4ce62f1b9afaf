import assert from "node:assert/strict";
import { test } from "node:test";
import { eventsRoute } from "../../src/edge/rest/events/fast.ts";
import type { FastRoute, LaneRequest } from "../../src/edge/rest/fast-route.ts";
import { appendRoute } from "../../src/edge/rest/records/fast.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { nextTurn } from "../../src/port/next-turn.ts";
import type { WriteOp } from "../../src/port/store.ts";
import { EngineHarness } from "../model/collection/harness.ts";

const asBase64 = (value: string) => Buffer.from(value).toString("base64");

/** How a value is appended, and in what of the stored bytes it is found again. */
const ways: readonly {
  readonly what: string;
  readonly route: (engine: Engine) => FastRoute;
  readonly path: string;
  readonly type: string;
  readonly body: (value: string) => unknown;
}[] = [
  {
    what: "events",
    route: eventsRoute,
    path: "/v1/namespaces/n/streams/s/events",
    type: "application/cloudevents-batch+json",
    body: (value) => [{ specversion: "1.0", id: value, source: "/s", type: "t", data: value }],
  },
  {
    what: "records",
    route: appendRoute,
    path: "/v1/namespaces/n/streams/s/partitions/0/records",
    type: "application/json",
    body: (value) => ({ records: [{ value: asBase64(value) }] }),
  },
];

for (const { what, route, path, type, body } of ways) {
  test(`${what} that were given up waiting for are written as they were sent`, async () => {
    await using harness = await EngineHarness.start("memory");
    const { engine, store, clock } = harness;
    await engine.streams.create({ namespace: "n", stream: "s" }, 1, undefined);
    const work = route(engine).match(path, { "content-type": type });
    assert.ok(work !== undefined);
    const request: LaneRequest = {
      headers: { "content-type": type },
      rawHeaders: [],
      remoteAddress: undefined,
      remotePort: undefined,
    };
    const append = async (value: string) => {
      await work.run(request, Buffer.from(JSON.stringify(body(value))), () => new AbortController().signal);
    };
    await append("before");
    const commit = store.commit.bind(store);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.commit = async (ops: readonly WriteOp[]) => {
      await promise;
      await commit(ops);
    };
    let failure: unknown;
    const late = append("sent-first").catch((error: unknown) => {
      failure = error;
    });
    while (failure === undefined) {
      clock.advance(1_000);
      await nextTurn();
    }
    await late;
    assert.match((failure as Error).message, /the outcome is not known yet/);
    await assert.rejects(append("sent-later"), /nothing was written/);
    store.commit = commit;
    resolve();
    const isTaken = () =>
      append("after").then(
        () => true,
        () => false,
      );
    while (!(await isTaken())) await nextTurn();
    const fetched = await engine.streams.fetch({
      namespace: "n",
      stream: "s",
      partition: 0,
      from: { offset: 0 },
      waitMs: 0,
      token: [],
    });
    const values: string[] = [];
    for (const batch of fetched.read(0)) {
      assert.ok(batch.seek(values.length));
      do values.push(Buffer.from(batch.value!).toString().replaceAll('"', ""));
      while (batch.next());
    }
    assert.deepEqual(values, ["before", "sent-first", "after"]);
  });
}
