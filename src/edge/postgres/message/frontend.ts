import { MessageReader, violation } from "./reader.ts";

/**
 * The messages of a signed-in client. Each is
 *
 *     type: byte, length: int32 (itself and what follows), body
 *
 *     Query     Q  query: text
 *     Parse     P  statement: text, query: text, count: int16, that many type: int32 (0 leaves it to the server)
 *     Bind      B  portal: text, statement: text,
 *                  count: int16, that many format: int16   (0 text, 1 binary; none: all text; one: for all)
 *                  count: int16, that many { length: int32 (-1 is NULL), value: bytes }
 *                  count: int16, that many format: int16   (of the result's columns, by the same rule)
 *     Describe  D  kind: byte (S statement, P portal), name: text
 *     Execute   E  portal: text, rows: int32 (0: all)
 *     Close     C  kind: byte (S or P), name: text
 *     Flush     H
 *     Sync      S
 *     Terminate X
 *     Password  p  password: text
 *     CopyData  d, CopyDone c, CopyFail f, FunctionCall F: nothing here asks for them
 */
export type FrontendMessage =
  | { readonly type: "query"; readonly query: string }
  | { readonly type: "parse"; readonly name: string; readonly query: string; readonly types: readonly number[] }
  | BindMessage
  | { readonly type: "describe"; readonly target: Target; readonly name: string }
  | { readonly type: "execute"; readonly portal: string; readonly rows: number }
  | { readonly type: "close"; readonly target: Target; readonly name: string }
  | { readonly type: "flush" }
  | { readonly type: "sync" }
  | { readonly type: "terminate" }
  | { readonly type: "copy" }
  | { readonly type: "function_call" };

export type Target = "statement" | "portal";
export type Format = 0 | 1;

export interface BindMessage {
  readonly type: "bind";
  readonly portal: string;
  readonly statement: string;
  readonly formats: readonly Format[];
  /** Null is NULL. */
  readonly values: readonly (Buffer | null)[];
  readonly resultFormats: readonly Format[];
}

/** Whether a byte opens a message of a signed-in client. */
export function isFrontendType(byte: number): boolean {
  return "QPBDECHSXdcfF".includes(String.fromCharCode(byte));
}

export function decodeFrontend(type: number, body: Buffer): FrontendMessage {
  const reader = new MessageReader(body);
  const message = decode(String.fromCharCode(type), reader);
  if (message.type !== "copy" && message.type !== "function_call") reader.done();
  return message;
}

function decode(type: string, reader: MessageReader): FrontendMessage {
  switch (type) {
    case "Q":
      return { type: "query", query: reader.cstring() };
    case "P":
      return { type: "parse", name: reader.cstring(), query: reader.cstring(), types: uint32s(reader) };
    case "B":
      return bind(reader);
    case "D":
      return { type: "describe", target: target(reader), name: reader.cstring() };
    case "E":
      return { type: "execute", portal: reader.cstring(), rows: Math.max(reader.int32(), 0) };
    case "C":
      return { type: "close", target: target(reader), name: reader.cstring() };
    case "H":
      return { type: "flush" };
    case "S":
      return { type: "sync" };
    case "X":
      return { type: "terminate" };
    case "F":
      return { type: "function_call" };
    default:
      return { type: "copy" };
  }
}

function bind(reader: MessageReader): BindMessage {
  const portal = reader.cstring();
  const statement = reader.cstring();
  const formats = formatCodes(reader);
  const count = reader.uint16();
  const values: (Buffer | null)[] = [];
  for (let i = 0; i < count; i++) {
    const length = reader.int32();
    values.push(length === -1 ? null : reader.take(length));
  }
  return { type: "bind", portal, statement, formats, values, resultFormats: formatCodes(reader) };
}

function uint32s(reader: MessageReader): number[] {
  const count = reader.uint16();
  const list: number[] = [];
  for (let i = 0; i < count; i++) list.push(reader.uint32());
  return list;
}

function formatCodes(reader: MessageReader): Format[] {
  const count = reader.uint16();
  const list: Format[] = [];
  for (let i = 0; i < count; i++) {
    const code = reader.int16();
    if (code !== 0 && code !== 1) throw violation(`${code} is no format code`);
    list.push(code);
  }
  return list;
}

function target(reader: MessageReader): Target {
  const byte = reader.byte();
  if (byte === 0x53) return "statement";
  if (byte === 0x50) return "portal";
  throw violation("neither a statement nor a portal is named");
}

/** The format of item `i` by the rule of the lists above. */
export function formatOf(formats: readonly Format[], i: number): Format {
  return formats.length === 1 ? formats[0]! : (formats[i] ?? 0);
}
