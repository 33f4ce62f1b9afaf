import { ByteReader } from "./byte-reader.ts";
import { capability, has, status } from "./capability.ts";
import { mysqlError } from "./error.ts";
import type { PacketWriter } from "./packet-writer.ts";

/** The messages of signing in. */

export const nonceBytes = 20;
/** The protocol's limit on what clients may say of themselves. */
const attributeBytesMax = 65_536;

/** utf8mb4_bin: texts are compared by their bytes, as the engine does it. */
export const utf8mb4 = 46;

export interface Greeting {
  readonly version: string;
  readonly connectionId: number;
  readonly nonce: Buffer;
  readonly capabilities: number;
  readonly plugin: string;
}

/**
 *   HandshakeV10 := u8 10, nul-string version, u32 connection id, 8 bytes of nonce, u8 0, u16 capabilities (low),
 *                   u8 character set, u16 status, u16 capabilities (high), u8 length of the nonce with its zero byte,
 *                   10 zero bytes, 12 more bytes of nonce and a zero byte, nul-string plugin
 */
export function writeGreeting(packet: PacketWriter, greeting: Greeting): void {
  const { version, connectionId, nonce, capabilities, plugin } = greeting;
  packet.begin().u8(10).nulText(version).u32(connectionId).bytes(nonce.subarray(0, 8)).u8(0);
  packet
    .u16(capabilities & 0xffff)
    .u8(utf8mb4)
    .u16(status.autocommit);
  packet
    .u16(capabilities >>> 16)
    .u8(nonceBytes + 1)
    .zeros(10);
  packet.bytes(nonce.subarray(8)).u8(0).nulText(plugin).end();
}

export interface HandshakeResponse {
  readonly capabilities: number;
  readonly user: string;
  readonly authResponse: Buffer;
  readonly database: string | undefined;
  readonly plugin: string | undefined;
}

const sslRequestBytes = 32;

/** An SSLRequest is the head of a HandshakeResponse41 with nothing behind it. */
export function isSslRequest(payload: Buffer): boolean {
  return payload.length === sslRequestBytes && has(payload.readUInt32LE(0), capability.ssl);
}

/**
 *   HandshakeResponse41 := u32 capabilities, u32 largest packet, u8 character set, 23 bytes, nul-string user,
 *                          auth response, nul-string database, nul-string plugin, attributes
 *
 * The auth response is a lenenc-string, or one with a length of one byte, or a nul-string, by the capabilities; so is
 * whether the last three are there.
 */
export function readHandshakeResponse(payload: Buffer): HandshakeResponse {
  const reader = new ByteReader(payload);
  const capabilities = reader.u32();
  if (!has(capabilities, capability.protocol41)) {
    throw mysqlError("handshake", "Bad handshake: the client must speak the protocol of MySQL 4.1 or later");
  }
  reader.skip(4 + 1 + 23);
  const user = reader.nulText();
  const authResponse = has(capabilities, capability.pluginAuthLengthEncoded)
    ? reader.lengthBytes()
    : has(capabilities, capability.secureConnection)
      ? reader.bytes(reader.u8())
      : reader.nulBytes();
  const database = has(capabilities, capability.connectWithDb) && reader.remaining > 0 ? reader.nulText() : "";
  // Some clients leave out the last zero byte.
  const plugin = has(capabilities, capability.pluginAuth) ? lastText(reader) : undefined;
  if (has(capabilities, capability.connectAttributes) && reader.remaining > 0) skipAttributes(reader);
  return { capabilities, user, authResponse, database: database === "" ? undefined : database, plugin };
}

/**
 *   COM_CHANGE_USER := nul-string user, u8 length and auth response, nul-string database, u16 character set,
 *                      nul-string plugin, attributes
 */
export function readChangeUser(payload: Buffer, capabilities: number): HandshakeResponse {
  const reader = new ByteReader(payload);
  const user = reader.nulText();
  const authResponse = has(capabilities, capability.secureConnection) ? reader.bytes(reader.u8()) : reader.nulBytes();
  const database = reader.nulText();
  if (reader.remaining >= 2) reader.skip(2);
  const plugin = has(capabilities, capability.pluginAuth) && reader.remaining > 0 ? lastText(reader) : undefined;
  if (has(capabilities, capability.connectAttributes) && reader.remaining > 0) skipAttributes(reader);
  return { capabilities, user, authResponse, database: database === "" ? undefined : database, plugin };
}

function lastText(reader: ByteReader): string | undefined {
  if (reader.remaining === 0) return undefined;
  return reader.nulOrRest().toString("utf8");
}

function skipAttributes(reader: ByteReader): void {
  const length = reader.length();
  if (length > attributeBytesMax) throw mysqlError("malformedPacket", "the connection's attributes are too long");
  reader.skip(length);
}

/** AuthSwitchRequest := u8 0xFE, nul-string plugin, nonce and a zero byte. */
export function writeAuthSwitch(packet: PacketWriter, plugin: string, nonce: Buffer): void {
  packet.begin().u8(0xfe).nulText(plugin).bytes(nonce).u8(0).end();
}

/** AuthMoreData := u8 0x01, data to the end. */
export function writeAuthMoreData(packet: PacketWriter, data: Uint8Array): void {
  packet.begin().u8(0x01).bytes(data).end();
}
