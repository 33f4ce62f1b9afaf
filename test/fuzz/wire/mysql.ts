import { capability } from "../../../src/edge/mysql/capability.ts";
import { errorOf, handshakeResponse, usual } from "../../wire/mysql/raw-client.ts";
import { must, type Target } from "../target.ts";
import { secret } from "./server.ts";
import { sessionTarget } from "./session.ts";

function packet(sequence: number, ...parts: (Uint8Array | string)[]): Buffer {
  const payload = Buffer.concat(parts.map((part) => Buffer.from(part as string, "latin1")));
  const head = Buffer.alloc(4);
  head.writeUIntLE(payload.length, 0, 3);
  head[3] = sequence;
  return Buffer.concat([head, payload]);
}

const command = (code: number, ...rest: (Uint8Array | string)[]) => packet(0, Buffer.from([code]), ...rest);
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const hello = packet(1, handshakeResponse("fuzz"));
const multi = packet(1, handshakeResponse("fuzz", usual | capability.multiStatements));
const quit = command(0x01);
const executed = Buffer.concat([u32(1), Buffer.from([0]), u32(1), Buffer.from([0, 1, 8, 0]), Buffer.alloc(8, 1)]);
const cursor = Buffer.concat([u32(1), Buffer.from([1]), u32(1), Buffer.from([0, 1, 0xfd, 0]), Buffer.from([1, 0x31])]);

const sessions: readonly (readonly Uint8Array[])[] = [
  [hello, command(0x03, "select * from items where qty > 3 limit 2"), quit],
  [multi, command(0x03, "select 1; select 'a\\'b', `name` from `items`; select @@version, database()"), quit],
  [
    hello,
    command(0x16, "select * from items where _id = ?"),
    command(0x17, executed),
    command(0x1a, u32(1)),
    command(0x19, u32(1)),
    quit,
  ],
  [
    hello,
    command(0x16, "select name from items where _id > ?"),
    command(0x17, cursor),
    command(0x1c, u32(1), u32(2)),
    quit,
  ],
  [
    hello,
    command(0x16, "select ?"),
    command(0x18, u32(1), Buffer.from([0, 0]), "long data"),
    command(0x17, cursor),
    quit,
  ],
  [hello, command(0x02, "fuzz"), command(0x0e), command(0x09), command(0x04, "items\0"), command(0x1f), quit],
  [hello, command(0x11, `u\0${secret}\0fuzz\0`), quit],
  [
    hello,
    command(0x03, "show tables"),
    command(0x03, "show full columns from items"),
    command(0x03, "set names utf8mb4, @a = 1"),
    quit,
  ],
  [hello, command(0x03, "select table_name from information_schema.tables where table_schema = 'fuzz'"), quit],
  [packet(1, handshakeResponse("fuzz", usual | capability.ssl))],
  [packet(1, handshakeResponse("nothing"))],
];

function mend(given: Buffer): Buffer {
  if (given.length >= 4) given.writeUIntLE((given.length - 4) & 0xffffff, 0, 3);
  return given;
}

function check(received: Buffer): void {
  let at = 0;
  while (at < received.length) {
    must(received.length - at >= 4, "half a packet", () => received.subarray(at).toString("hex"));
    const length = received.readUIntLE(at, 3);
    must(at + 4 + length <= received.length, "a packet that is cut off", () => received.subarray(at).toString("hex"));
    const payload = received.subarray(at + 4, at + 4 + length);
    const error = errorOf(payload);
    // A row may begin with the same byte; only an error has the mark of its state.
    if (error !== undefined && payload[3] === 0x23) {
      must(error.errno !== 1105, "an error of ours", () => error);
      must(!error.message.includes(secret), "an error tells a secret", () => error);
    }
    at += 4 + length;
  }
}

export const mysql: Target = sessionTarget({
  name: "mysql",
  port: (server) => server.mysqlPort,
  sessions,
  words: ["select ", "?", "`", "'", "\\", "/*!", "*/", "@@", "\u0000", ";", "show ", "#", "\u00fb", "\u00fe"],
  mend,
  check,
});
