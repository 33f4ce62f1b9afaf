import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { request as requestTls, Agent as TlsAgent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { AwsV4Signer } from "aws4fetch";
import { sha256 } from "../../port/checksum.ts";

export interface S3Address {
  /** `https://host:port`. The bucket is the first part of the path, which every server understands. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Keys begin with it: empty, or with a slash at its end. */
  readonly prefix: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface S3Request {
  readonly method: "GET" | "PUT" | "DELETE" | "HEAD";
  /** Of an object; empty for the bucket itself. */
  readonly key: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | FileBody;
}

/** A body that is too large to be held. */
export interface FileBody {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** What the server says; it never holds a key. */
export class S3Error extends Error {
  readonly status: number;
  /** S3's own word, where the answer has one. */
  readonly reason: string;
  /** As for a file, for an object that is missing. */
  readonly code: "ENOENT" | undefined;

  constructor(status: number, reason: string, what: string) {
    super(`S3 answers ${status} ${reason} to ${what}`);
    this.name = "S3Error";
    this.status = status;
    this.reason = reason;
    this.code = reason === "NoSuchKey" ? "ENOENT" : undefined;
  }
}

/** No byte came or went for so long. */
const idleMs = 10_000;
const attemptsMax = 3;
/** Before the second attempt; four times as long before each one after it. */
const retryMs = 200;
const connectionsMax = 32;
const answerBytesMax = 4 * 1024 * 1024;

/** Signed requests to one bucket. */
export class S3Client {
  readonly address: S3Address;
  readonly #send: typeof request;
  readonly #agent: Agent;

  constructor(address: S3Address) {
    const isTls = address.endpoint.startsWith("https:");
    const options = { keepAlive: true, maxSockets: connectionsMax };
    this.address = address;
    this.#send = isTls ? requestTls : request;
    this.#agent = isTls ? new TlsAgent(options) : new Agent(options);
  }

  /** Again after what may pass: no answer, a busy or broken server. */
  async retried<T>(run: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await run();
      } catch (error) {
        if (attempt === attemptsMax || !mayPass(error)) throw error;
        await sleep(retryMs * 4 ** (attempt - 1));
      }
    }
  }

  /** The answer once its head is there; throws an S3Error where it is none that was asked for. */
  async open(request: S3Request): Promise<IncomingMessage> {
    const response = await this.#answer(request);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    const text = (await textOf(response)).toString();
    const missing = request.key === "" ? "NoSuchBucket" : "NoSuchKey";
    const reason = tagOf(text, "Code") ?? (status === 404 ? missing : (response.statusMessage ?? ""));
    throw new S3Error(status, reason, `${request.method} of ${request.key || "the bucket"}`);
  }

  /** The whole answer, for those that are short. */
  async text(request: S3Request): Promise<string> {
    return (await textOf(await this.open(request))).toString();
  }

  async #answer({ method, key, query = {}, headers = {}, body }: S3Request): Promise<IncomingMessage> {
    const { endpoint, bucket, region, accessKey, secretKey } = this.address;
    const path = [bucket, ...key.split("/")].map(encodeURIComponent).join("/");
    const url = `${endpoint}/${path}?${new URLSearchParams(query)}`;
    const signed = await new AwsV4Signer({
      method,
      url,
      headers: { ...headers, "x-amz-content-sha256": await sha256Of(body) },
      accessKeyId: accessKey,
      secretAccessKey: secretKey,
      service: "s3",
      region,
    }).sign();
    const bytes = body === undefined ? 0 : "file" in body ? body.bytes : body.length;
    return new Promise((resolve, reject) => {
      const sent = this.#send(signed.url, {
        method,
        headers: { ...Object.fromEntries(signed.headers), ...(method === "PUT" && { "content-length": bytes }) },
        agent: this.#agent,
        timeout: idleMs,
      });
      sent.once("timeout", () => sent.destroy(new Error("S3 does not answer")));
      sent.once("error", reject);
      sent.once("response", resolve);
      write(sent, body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

function write(sent: ClientRequest, body: S3Request["body"]): void {
  if (body === undefined || !("file" in body)) {
    sent.end(body);
    return;
  }
  const stream = createReadStream(body.file);
  stream.once("error", (error) => sent.destroy(error));
  stream.pipe(sent);
}

async function sha256Of(body: S3Request["body"] = new Uint8Array()): Promise<string> {
  return "file" in body ? body.sha256 : await sha256(body);
}

/** A file as a body. */
export async function fileBody(file: string): Promise<FileBody> {
  const hashed = createHash("sha256");
  let bytes = 0;
  for await (const piece of createReadStream(file) as AsyncIterable<Buffer>) {
    hashed.update(piece);
    bytes += piece.length;
  }
  return { file, bytes, sha256: hashed.digest("hex") };
}

async function textOf(response: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > answerBytesMax) throw new Error("the answer of S3 is too long");
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** What no retry changes is what the server has understood and refused. */
export function mayPass(error: unknown): boolean {
  return (
    !(error instanceof S3Error) || error.status >= 500 || error.status === 429 || error.reason === "RequestTimeout"
  );
}

/** The text of the first element of a name. */
export function tagOf(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return text?.replace(/&(?:amp|lt|gt|quot|apos|#(\d+)|#x([0-9a-fA-F]+));/g, unescaped);
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function unescaped(whole: string, decimal?: string, hexadecimal?: string): string {
  if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
  if (hexadecimal !== undefined) return String.fromCodePoint(Number.parseInt(hexadecimal, 16));
  return entities[whole.slice(1, -1)]!;
}
