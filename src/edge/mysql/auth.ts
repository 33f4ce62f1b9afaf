import { constants, createPrivateKey, generateKeyPair, type KeyObject, privateDecrypt, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import type { Principal } from "../../engine/auth/principal.ts";
import type { AuthRequest } from "../auth/authenticator.ts";
import { type MysqlError, mysqlError } from "./error.ts";
import { type HandshakeResponse, nonceBytes, writeAuthMoreData, writeAuthSwitch } from "./handshake.ts";
import { mysqlLimits } from "./limits.ts";
import type { PacketWriter } from "./packet-writer.ts";

/**
 * What is stored of a key is its SHA-256, and a token can only be judged whole: no answer to a challenge can be checked.
 * So every client is led to the full exchange of `caching_sha2_password`, at whose end the password itself is here:
 *
 *   client: answer to the challenge (or nothing, for an empty password)
 *   server: 0x04, give the password
 *   client: over TLS the password and a zero byte;
 *           else 0x02, server: its RSA key in PEM, client: the same, xor the nonce, encrypted with RSA-OAEP (SHA-1)
 *
 * `mysql_clear_password` gives it at once, and is taken over TLS only.
 */
export const cachingSha2 = "caching_sha2_password";
export const clearPassword = "mysql_clear_password";

const fastSuccess = Uint8Array.of(3);
const performFull = Uint8Array.of(4);
const keyRequest = 2;
/** Of a key of 2048 bits. */
const sealedBytes = 256;

/** A nonce holds no zero byte, since clients read it as a string that ends with one. */
export function createNonce(): Buffer {
  const nonce = randomBytes(nonceBytes);
  for (let i = 0; i < nonce.length; i++) nonce[i] = (nonce[i]! % 94) + 33;
  return nonce;
}

/** The key pair with which passwords travel where there is no TLS; it lives as long as the process. */
export class PasswordKey {
  readonly publicPem: string;
  readonly #private: KeyObject;

  private constructor(publicPem: string, privateKey: KeyObject) {
    this.publicPem = publicPem;
    this.#private = privateKey;
  }

  static async create(): Promise<PasswordKey> {
    const { publicKey, privateKey } = await promisify(generateKeyPair)("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    return new PasswordKey(publicKey, createPrivateKey(privateKey));
  }

  /** The password with its zero byte, or undefined for what was not encrypted with this key. */
  decrypt(sealed: Buffer, nonce: Buffer): Buffer | undefined {
    let open: Buffer;
    try {
      open = privateDecrypt(
        { key: this.#private, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha1" },
        sealed,
      );
    } catch {
      return undefined;
    }
    return open.map((byte, i) => byte ^ nonce[i % nonce.length]!) as Buffer;
  }
}

/** The two directions of the exchange; `read` gives undefined when the client has gone. */
export interface AuthChannel {
  readonly isSecure: boolean;
  /** From this machine to itself, where nobody listens in between. */
  readonly isLocal: boolean;
  readonly packet: PacketWriter;
  flush(): void;
  read(): Promise<Buffer | undefined>;
}

/** A password as the client gave it; empty where it gave none, undefined when it has gone. */
export async function receivePassword(
  channel: AuthChannel,
  response: HandshakeResponse,
  nonce: Buffer,
  key: Promise<PasswordKey>,
): Promise<string | undefined> {
  const { plugin, authResponse } = response;
  if (plugin === clearPassword && channel.isSecure) {
    return authResponse.length > 0 ? passwordOf(authResponse) : askClear(channel, nonce);
  }
  let answer: Buffer | undefined = authResponse;
  if (plugin !== cachingSha2) {
    writeAuthSwitch(channel.packet, cachingSha2, nonce);
    channel.flush();
    answer = await channel.read();
    if (answer === undefined) return undefined;
  }
  // One zero byte is how some clients say that there is no password.
  if (answer.length === 0 || (answer.length === 1 && answer[0] === 0)) return "";
  writeAuthMoreData(channel.packet, performFull);
  channel.flush();
  return channel.isSecure ? readPassword(channel) : readSealed(channel, nonce, await key);
}

/** What a client that was let in without a look at its password waits for before the OK. */
export function acceptUnseen({ packet }: AuthChannel, { plugin, authResponse }: HandshakeResponse): void {
  if (plugin === cachingSha2 && authResponse.length > 1) writeAuthMoreData(packet, fastSuccess);
}

async function askClear(channel: AuthChannel, nonce: Buffer): Promise<string | undefined> {
  writeAuthSwitch(channel.packet, clearPassword, nonce);
  channel.flush();
  return readPassword(channel);
}

async function readPassword(channel: AuthChannel): Promise<string | undefined> {
  const answer = await channel.read();
  return answer && passwordOf(answer);
}

async function readSealed(channel: AuthChannel, nonce: Buffer, key: PasswordKey): Promise<string | undefined> {
  let sealed = await channel.read();
  if (sealed?.length === 1 && sealed[0] === keyRequest) {
    writeAuthMoreData(channel.packet, Buffer.from(key.publicPem, "latin1"));
    channel.flush();
    sealed = await channel.read();
  }
  if (sealed === undefined) return undefined;
  // The mariadb client that would have taken TLS gives its password as if it had.
  if (channel.isLocal && sealed.length !== sealedBytes && sealed.at(-1) === 0) return passwordOf(sealed);
  const open = key.decrypt(sealed, nonce);
  if (open === undefined) {
    throw mysqlError(
      "handshake",
      "Bad handshake: the password is not encrypted with this server's key; over plain connections it has at most 213 bytes",
    );
  }
  return passwordOf(open);
}

function passwordOf(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  const password = bytes.subarray(0, end === -1 ? bytes.length : end);
  if (password.length > mysqlLimits.passwordBytesMax) throw mysqlError("handshake", "Bad handshake: password too long");
  return password.toString("utf8");
}

/** The credential as the other edges get it: an API key or a token. */
export function credentialOf(password: string): Pick<AuthRequest, "authorization"> {
  return password === "" ? {} : { authorization: `Bearer ${password}` };
}

export interface SignedIn {
  readonly principal: Principal;
  readonly user: string;
}

export function accessDenied(user: string, host: string, password: string): MysqlError {
  const used = password === "" ? "NO" : "YES";
  return mysqlError("accessDenied", `Access denied for user '${user}'@'${host}' (using password: ${used})`);
}
