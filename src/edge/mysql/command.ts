import { ByteReader } from "./byte-reader.ts";
import { mysqlError } from "./error.ts";
import { mysqlLimits } from "./limits.ts";

/** What a client asks for once it has signed in: one byte that names the command, and what belongs to it. */
export type Command =
  | { readonly kind: "quit" }
  | { readonly kind: "initDb"; readonly database: string }
  | { readonly kind: "query"; readonly text: string }
  | { readonly kind: "fieldList"; readonly table: string; readonly pattern: string }
  | { readonly kind: "statistics" }
  | { readonly kind: "processInfo" }
  | { readonly kind: "processKill"; readonly connectionId: number }
  | { readonly kind: "debug" }
  | { readonly kind: "ping" }
  | { readonly kind: "changeUser"; readonly payload: Buffer }
  | { readonly kind: "prepare"; readonly text: string }
  | { readonly kind: "execute"; readonly statementId: number; readonly cursor: number; readonly values: ByteReader }
  | { readonly kind: "longData"; readonly statementId: number; readonly parameter: number; readonly data: Buffer }
  | { readonly kind: "closeStatement"; readonly statementId: number }
  | { readonly kind: "resetStatement"; readonly statementId: number }
  | { readonly kind: "setOption"; readonly option: number }
  | { readonly kind: "fetch"; readonly statementId: number; readonly rows: number }
  | { readonly kind: "resetConnection" };

/**
 *   0x01 QUIT               0x02 INIT_DB name          0x03 QUERY text             0x04 FIELD_LIST nul-string table, pattern
 *   0x09 STATISTICS         0x0A PROCESS_INFO          0x0C PROCESS_KILL u32       0x0D DEBUG
 *   0x0E PING               0x11 CHANGE_USER           0x16 STMT_PREPARE text      0x17 STMT_EXECUTE u32 statement, u8 cursor,
 *   0x18 STMT_SEND_LONG_DATA u32 statement, u16 parameter, data                     u32 1, parameters (see parameter.ts)
 *   0x19 STMT_CLOSE u32     0x1A STMT_RESET u32        0x1B SET_OPTION u16         0x1C STMT_FETCH u32 statement, u32 rows
 *   0x1F RESET_CONNECTION
 */
/** QUERY, STMT_PREPARE, STMT_EXECUTE and STMT_SEND_LONG_DATA. */
const long: ReadonlySet<number> = new Set([0x03, 0x16, 0x17, 0x18]);

export function readCommand(payload: Buffer): Command {
  const reader = new ByteReader(payload);
  const code = reader.u8();
  if (payload.length > mysqlLimits.commandBytesMax && !long.has(code)) {
    throw mysqlError("malformedPacket", `Malformed packet: ${payload.length} bytes are too many for this command`);
  }
  switch (code) {
    case 0x01:
      return { kind: "quit" };
    case 0x02:
      return { kind: "initDb", database: utf8(reader) };
    case 0x03:
      return { kind: "query", text: utf8(reader) };
    case 0x04:
      return { kind: "fieldList", table: reader.nulText(), pattern: utf8(reader) };
    case 0x09:
      return { kind: "statistics" };
    case 0x0a:
      return { kind: "processInfo" };
    case 0x0c:
      return { kind: "processKill", connectionId: reader.u32() };
    case 0x0d:
      return { kind: "debug" };
    case 0x0e:
      return { kind: "ping" };
    case 0x11:
      return { kind: "changeUser", payload: reader.rest() };
    case 0x16:
      return { kind: "prepare", text: utf8(reader) };
    case 0x17: {
      const statementId = reader.u32();
      const cursor = reader.u8();
      reader.skip(4);
      return { kind: "execute", statementId, cursor, values: reader };
    }
    case 0x18:
      return { kind: "longData", statementId: reader.u32(), parameter: reader.u16(), data: reader.rest() };
    case 0x19:
      return { kind: "closeStatement", statementId: reader.u32() };
    case 0x1a:
      return { kind: "resetStatement", statementId: reader.u32() };
    case 0x1b:
      return { kind: "setOption", option: reader.u16() };
    case 0x1c:
      return { kind: "fetch", statementId: reader.u32(), rows: reader.u32() };
    case 0x1f:
      return { kind: "resetConnection" };
    default:
      throw mysqlError("unknownCommand", `Unknown command 0x${code.toString(16)}`);
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function utf8(reader: ByteReader): string {
  try {
    return decoder.decode(reader.rest());
  } catch {
    throw mysqlError("syntax", "The statement is not valid UTF-8; this server speaks utf8mb4 only");
  }
}
