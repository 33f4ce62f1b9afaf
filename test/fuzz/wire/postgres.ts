import {
  bind,
  closing,
  describe,
  errorFields,
  execute,
  int32,
  message,
  parse,
  query,
  startup,
  sync,
  text,
} from "../../wire/postgres/raw-client.ts";
import { must, type Target } from "../target.ts";
import { secret } from "./server.ts";
import { sessionTarget } from "./session.ts";

const start = startup({ user: "fuzz", database: "fuzz", application_name: "x", options: "-c statement_timeout=1000" });
const terminate = message("X");
const flush = message("H");
const sslRequest = Buffer.concat([int32(8), int32(80_877_103)]);
const cancel = Buffer.concat([int32(16), int32(80_877_102), int32(1), int32(2)]);

const sessions: readonly (readonly Uint8Array[])[] = [
  [start, query("select * from items where qty > 3 order by _id limit 2; select 1"), terminate],
  [
    start,
    parse("s", "select name, price from items where _id = $1 and kind = $2", 20, 25),
    describe("S", "s"),
    bind("p", "s", ["1", null]),
    describe("P", "p"),
    execute("p", 1),
    execute("p"),
    closing("S", "s"),
    sync,
    terminate,
  ],
  [
    start,
    query("begin"),
    query("declare c cursor for select * from items"),
    query("fetch 3 from c"),
    query("commit"),
    terminate,
  ],
  [start, query("set search_path to collections; show search_path; select current_setting('x')"), flush, terminate],
  [
    start,
    query("select c.relname, a.attname from pg_catalog.pg_class c join pg_attribute a on a.attrelid = c.oid limit 1"),
    terminate,
  ],
  [
    start,
    query("copy items to stdout"),
    message("d", text("x")),
    message("c"),
    message("f", text("no")),
    sync,
    terminate,
  ],
  [start, message("F", int32(1), Buffer.alloc(8)), sync, terminate],
  [sslRequest],
  [cancel],
  [startup({ user: "fuzz", database: "nothing" })],
  [startup({ user: "", database: "fuzz", replication: "true" }), message("p", text(secret))],
  [startup({ user: "x" }, (3 << 16) | 99), terminate],
];

/** The first message has no letter before its length. */
function mend(given: Buffer): Buffer {
  const isStartup = given[0] === 0;
  const at = isStartup ? 0 : 1;
  if (given.length >= at + 4) given.writeInt32BE(given.length - at, at);
  return given;
}

function check(received: Buffer): void {
  // The answer to a request for TLS is one letter alone.
  let at = received[0] === 0x4e || (received[0] === 0x53 && received.length === 1) ? 1 : 0;
  while (at < received.length) {
    must(received.length - at >= 5, "half a message", () => received.subarray(at).toString("hex"));
    const length = received.readInt32BE(at + 1);
    must(length >= 4 && at + 1 + length <= received.length, "a message of no length", () => received.toString("hex"));
    const type = String.fromCharCode(received[at]!);
    must(/[A-Za-z1-3]/.test(type), "a message of no kind", () => type);
    if (type === "E") {
      const fields = errorFields({ type, body: received.subarray(at + 5, at + 1 + length) });
      must(/^[0-9A-Z]{5}$/.test(fields["C"] ?? "") && fields["C"] !== "XX000", "an error of ours", () => fields);
      must(!JSON.stringify(fields).includes(secret), "an error tells a secret", () => fields);
    }
    at += 1 + length;
  }
}

export const postgres: Target = sessionTarget({
  name: "postgres",
  port: (server) => server.postgresPort,
  sessions,
  words: ["select ", "$1", "$99999", "::int", "'", "\u0000", ";", "pg_catalog.", "E'\\", "$$", "--", "/*"],
  mend,
  check,
});
