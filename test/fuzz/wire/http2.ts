import { frame, frameType, greeting, headers, ping, preface, reset, settings } from "../../listener/frames.ts";
import { must, type Target } from "../target.ts";
import { sessionTarget } from "./session.ts";

const continuation = 9;
const priority = 2;
const push = 5;
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value >>> 0);
  return bytes;
};
const goaway = frame(frameType.goaway, 0, 0, Buffer.alloc(8));
const windowUpdate = (stream: number, by: number) => frame(frameType.windowUpdate, 0, stream, u32(by));
const data = (stream: number, text: string, flags = 1) => frame(frameType.data, flags, stream, Buffer.from(text));
const setting = (id: number, value: number) =>
  frame(frameType.settings, 0, 0, Buffer.concat([Buffer.from([0, id]), u32(value)]));
const repeated = (count: number, make: (i: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));

/** A literal header that is not indexed; lengths stand in one byte. */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}

const base = Buffer.from([0x83, 0x86, 0x41, 0x09, ...Buffer.from("127.0.0.1")]);
const path = (text: string) => Buffer.concat([Buffer.from([0x04, text.length]), Buffer.from(text)]);
const post = (stream: number, target: string, ...more: Buffer[]) =>
  frame(frameType.headers, 4, stream, Buffer.concat([base, path(target), ...more]));
const json = literal("content-type", "application/json");
/** One entry of four kilobytes in the table, and hundreds of references to it. */
const bomb = Buffer.concat([
  Buffer.from([0x40, 1, 0x61, 0x7f, 0x81, 0x1f]),
  Buffer.alloc(4_096, 0x61),
  Buffer.alloc(2_000, 0xbe),
]);

const sessions: readonly (readonly Uint8Array[])[] = [
  [greeting, headers(1, "GET"), headers(3, "GET"), goaway],
  [greeting, post(1, "/v1/namespaces/fuzz/query", json), data(1, '{"from":"collections.items","limit":1}'), goaway],
  [
    greeting,
    post(1, "/v1/namespaces/fuzz/sql", json),
    data(1, '{"query"', 0),
    data(1, ':"select 1"}'),
    windowUpdate(0, 100),
    windowUpdate(1, 100),
  ],
  [greeting, post(1, "/service.instance.v1.InstanceService/GetInstance", json), data(1, "{}")],
  [greeting, repeated(300, (i) => Buffer.concat([headers(2 * i + 1, "GET"), reset(2 * i + 1)]))],
  [greeting, repeated(150, () => setting(3, 100)), repeated(50, () => ping())],
  [
    greeting,
    frame(frameType.headers, 0, 1, base),
    repeated(40, () => frame(continuation, 0, 1, literal("x", "y".repeat(100)))),
    frame(continuation, 4, 1),
  ],
  [greeting, frame(frameType.headers, 4, 1, Buffer.concat([base, path("/"), bomb]))],
  [greeting, setting(4, 0), headers(1, "GET"), windowUpdate(1, 1), windowUpdate(1, 1), windowUpdate(1, 0x7fffffff)],
  [greeting, setting(4, 0x7fffffff), setting(5, 16_384), setting(1, 0), setting(6, 10), headers(1, "GET")],
  [
    greeting,
    frame(priority, 0, 1, Buffer.concat([u32(1), Buffer.from([255])])),
    frame(push, 4, 1, u32(2)),
    windowUpdate(0, 0),
  ],
  [greeting, headers(2, "GET"), headers(1, "GET"), data(0, "x"), data(7, "x"), reset(9)],
  [
    greeting,
    frame(
      frameType.headers,
      4,
      1,
      Buffer.concat([base, path("/"), literal("Upper", "x"), literal("connection", "x"), literal("te", "gzip")]),
    ),
    data(1, ""),
  ],
  [
    greeting,
    frame(frameType.headers, 4, 1, Buffer.concat([base, base, path("/"), path("/x"), literal("content-length", "9")])),
    data(1, "1"),
  ],
  [preface, headers(1, "GET"), settings],
];

function mend(given: Buffer): Buffer {
  if (given.length >= 9 && !given.subarray(0, 3).equals(preface.subarray(0, 3)))
    given.writeUIntBE((given.length - 9) & 0xffffff, 0, 3);
  return given;
}

function check(received: Buffer): void {
  const text = received.latin1Slice();
  must(!text.includes("internal error"), "an error of ours", () => text.slice(0, 2_000));
  // Where the greeting is broken the answer is HTTP/1's; else it is frames, one after another.
  if (text.startsWith("HTTP/1.1 ")) return;
  let at = 0;
  while (at + 9 <= received.length) at += 9 + received.readUIntBE(at, 3);
  const isWhole = at === received.length || received.length === 0;
  // The connection may be cut off in the middle of one.
  must(isWhole || at > received.length || received.length - at < 9, "frames that are none", () =>
    received.toString("hex"),
  );
}

export const http2: Target = sessionTarget({
  name: "http2",
  mayLinger: true,
  port: (server) => server.port,
  sessions,
  words: [
    "\u0000\u0000\u0000\u0004\u0001",
    "/v1/namespaces",
    "content-length",
    "transfer-encoding",
    ":path",
    ":status",
  ],
  mend,
  check,
});
