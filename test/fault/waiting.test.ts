import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { ask, base64 } from "../support/http.ts";
import { ServerProcess } from "../support/process.ts";
import { MiB, ownBytes } from "./memory.ts";
import { metric } from "./metrics.ts";

/** Fewer where this machine lets a process open fewer files. */
const polls = Math.min(Number(process.env["FAULT_POLLS"] ?? 10_000), filesMax() - 1_000);
const openedAtOnce = 250;
const pollBytesMax = 40 * 1024;

function filesMax(): number {
  const match = /^Max open files\s+\S+\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "utf8"));
  return match === null || match[1] === "unlimited" ? Infinity : Number(match[1]);
}

/** A long poll on a connection of its own, asked again when its time is over, as a consumer does. */
class Poll {
  readonly #socket: Socket;
  readonly #request: string;
  #received = "";
  /** Records of the last answer, or undefined while none has come. */
  answered: number | undefined;
  closed = false;

  constructor(url: string, path: string) {
    const { hostname, port } = new URL(url);
    this.#request = `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`;
    this.#socket = connect(Number(port), hostname);
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (text: string) => this.#onText(text));
    this.#socket.on("error", () => {});
    this.#socket.on("close", () => {
      this.closed = true;
    });
  }

  async open(): Promise<void> {
    await once(this.#socket, "connect");
    this.#socket.write(this.#request);
  }

  end(): void {
    this.#socket.destroy();
  }

  #onText(text: string): void {
    this.#received += text;
    const body = /\r\n\r\n(\{.*\})$/s.exec(this.#received)?.[1];
    if (body === undefined) return;
    const keptAlive = !/\r\nconnection: close\r\n/i.test(this.#received);
    assert.match(this.#received, /^HTTP\/1.1 200 /);
    this.#received = "";
    const { records } = JSON.parse(body) as { records: unknown[] };
    if (records.length === 0 && keptAlive) this.#socket.write(this.#request);
    else this.answered = records.length;
  }
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(20);
}

/**
 * Proves: one process holds 10,000 idle long polls at a few kilobytes each, appends go on meanwhile and wake those
 * that wait for them and no others, and at SIGTERM every one gets its answer before the process ends well.
 */
test(`${polls} idle long polls are held, woken and drained`, async (t) => {
  await using server = await ServerProcess.start();
  const { url } = server;
  assert.equal((await ask(`${url}/v1/namespaces`, { body: { name: "w" } })).status, 201);
  for (const name of ["idle", "busy"]) {
    assert.equal((await ask(`${url}/v1/namespaces/w/streams`, { body: { name, partitions: 10 } })).status, 201);
  }
  const path = (stream: string, i: number) =>
    `/v1/namespaces/w/streams/${stream}/partitions/${i % 10}/records?offset=0&max_wait_ms=60000`;
  const before = ownBytes(server);
  const all: Poll[] = [];
  t.after(() => {
    for (const poll of all) poll.end();
  });
  while (all.length < polls) {
    const step = Array.from(
      { length: Math.min(openedAtOnce, polls - all.length) },
      (_, i) => new Poll(url, path((all.length + i) % 10 === 0 ? "busy" : "idle", Math.floor((all.length + i) / 10))),
    );
    all.push(...step);
    await Promise.all(step.map((poll) => poll.open()));
  }
  await until(async () => (await metric(url, "service_connections")) >= polls);
  const busy = all.filter((_, i) => i % 10 === 0);
  const idle = all.filter((_, i) => i % 10 !== 0);

  const perPoll = (ownBytes(server) - before) / polls;
  t.diagnostic(`${Math.round(perPoll / 1024)} KiB a poll, ${Math.round(ownBytes(server) / MiB)} MiB in all`);
  assert(perPoll < pollBytesMax, `a poll takes ${Math.round(perPoll)} bytes`);
  assert(
    all.every(({ answered }) => answered === undefined),
    "nobody is answered without a record",
  );

  for (let partition = 0; partition < 10; partition++) {
    const body = { records: [{ value: base64("wake up") }] };
    const answer = await ask(`${url}/v1/namespaces/w/streams/busy/partitions/${partition}/records`, { body });
    assert.equal(answer.status, 200, answer.text);
  }
  await until(() => busy.every(({ answered }) => answered === 1));
  assert(
    idle.every(({ answered, closed }) => answered === undefined && !closed),
    "the others wait on",
  );

  assert.equal(await server.stop(), 0, "the process ends well");
  await until(() => all.every(({ closed }) => closed));
  assert(
    idle.every(({ answered }) => answered === 0),
    "every poll got its answer",
  );
});
