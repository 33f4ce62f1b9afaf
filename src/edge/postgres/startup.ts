import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";
import { MessageReader, violation } from "./message/reader.ts";

/**
 * What a client may say first; none of these has a type byte:
 *
 *     length: int32, code: int32, then
 *       80877103  SSLRequest
 *       80877104  GSSENCRequest
 *       80877102  CancelRequest: process: int32, secret: int32
 *       3.x       StartupMessage (x in the low half): pairs of { name: text, value: text } up to a zero byte
 *
 * or, without asking, a TLS handshake, which begins with 0x16.
 */
export type OpeningMessage =
  | { readonly type: "ssl" }
  | { readonly type: "gss" }
  | { readonly type: "cancel"; readonly process: number; readonly secret: number }
  | StartupMessage;

export interface StartupMessage {
  readonly type: "startup";
  readonly minorVersion: number;
  readonly parameters: ReadonlyMap<string, string>;
}

export const tlsRecordType = 0x16;
const codes = { cancel: 80_877_102, ssl: 80_877_103, gss: 80_877_104 } as const;

/** Whether the length that the first four bytes tell can be that of an opening message. */
export function isOpeningLength(length: number): boolean {
  return length >= 8 && length <= postgresLimits.startupBytesMax;
}

/** `body` is what follows the length. */
export function decodeOpening(body: Buffer): OpeningMessage {
  const reader = new MessageReader(body);
  const code = reader.int32();
  switch (code) {
    case codes.ssl:
      reader.done();
      return { type: "ssl" };
    case codes.gss:
      reader.done();
      return { type: "gss" };
    case codes.cancel: {
      const message = { type: "cancel", process: reader.int32(), secret: reader.int32() } as const;
      reader.done();
      return message;
    }
  }
  const [major, minorVersion] = [code >>> 16, code & 0xffff];
  if (major !== 3) {
    throw new PostgresError("0A000", `unsupported frontend protocol ${major}.${minorVersion}: server supports 3.0`);
  }
  const parameters = new Map<string, string>();
  for (let name = reader.cstring(); name !== ""; name = reader.cstring()) parameters.set(name, reader.cstring());
  if (reader.left > 0) throw violation("the startup message goes on after its end");
  return { type: "startup", minorVersion, parameters };
}

/** `-c name=value` and `--name=value`, as in the parameter `options`; a backslash takes the next character as it is. */
export function parseOptions(text: string): Map<string, string> {
  const words = [...text.matchAll(/(?:\\.|[^\s\\])+/gs)].map(([word]) => word.replace(/\\(.)/gs, "$1"));
  const found = new Map<string, string>();
  for (let i = 0; i < words.length; i++) {
    let word = words[i]!;
    if (word === "-c") word = words[++i] ?? "";
    else if (word.startsWith("-c")) word = word.slice(2);
    else if (word.startsWith("--")) word = word.slice(2);
    else throw new PostgresError("42601", `invalid command-line argument for server process: ${word}`);
    const equals = word.indexOf("=");
    if (equals < 1) throw new PostgresError("42601", `option "${word}" requires a value`);
    found.set(word.slice(0, equals).replaceAll("-", "_"), word.slice(equals + 1));
  }
  return found;
}
