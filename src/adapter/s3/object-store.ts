import type { ObjectInfo, ObjectStore } from "../../port/object-store.ts";
import { fileBody, type S3Address, S3Client, S3Error, type S3Request, tagOf } from "./client.ts";

/** What one request can put. */
const putBytesMax = 5 * 1024 ** 3;
const deletesAtOnce = 16;

/** Objects in a bucket of S3, or of a server that speaks its protocol. They are durable when a put is answered. */
export class S3ObjectStore implements ObjectStore {
  readonly files = undefined;
  readonly #client: S3Client;
  readonly #address: S3Address;

  constructor(address: S3Address) {
    this.#client = new S3Client(address);
    this.#address = address;
  }

  async put(path: string, data: Uint8Array): Promise<void> {
    await this.#put(path, data);
  }

  /** The same from a file of this machine. */
  async putFile(path: string, file: string): Promise<void> {
    await this.#put(path, await fileBody(file));
  }

  /** False where the object is there already. */
  async putNew(path: string, data: Uint8Array): Promise<boolean> {
    try {
      await this.#client.text({ method: "PUT", key: this.#key(path), body: data, headers: { "if-none-match": "*" } });
      return true;
    } catch (error) {
      if (error instanceof S3Error && (error.status === 412 || error.status === 409)) return false;
      throw error;
    }
  }

  async #put(path: string, body: NonNullable<S3Request["body"]>): Promise<void> {
    const key = this.#key(path);
    const bytes = "file" in body ? body.bytes : body.length;
    if (bytes > putBytesMax) throw new Error(`${path} has ${bytes} bytes, which is more than S3 takes at once`);
    await this.#client.retried(() => this.#client.text({ method: "PUT", key, body }));
  }

  async get(
    path: string,
    allocate: (bytes: number) => Uint8Array = Buffer.allocUnsafeSlow,
  ): Promise<Uint8Array | undefined> {
    const key = this.#key(path);
    try {
      return await this.#client.retried(async () => {
        const response = await this.#client.open({ method: "GET", key });
        const bytes = allocate(Number(response.headers["content-length"]));
        let at = 0;
        for await (const piece of response as AsyncIterable<Buffer>) {
          bytes.set(piece, at);
          at += piece.length;
        }
        if (at < bytes.length) throw new Error(`${path} ended while it was read`);
        return bytes;
      });
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async *pieces(path: string): AsyncGenerator<Uint8Array> {
    const key = this.#key(path);
    const response = await this.#client.retried(() => this.#client.open({ method: "GET", key }));
    yield* response as AsyncIterable<Buffer>;
  }

  async list(prefix: string): Promise<ObjectInfo[]> {
    const found: ObjectInfo[] = [];
    let token: string | undefined;
    do {
      const query = {
        "list-type": "2",
        "encoding-type": "url",
        prefix: this.#address.prefix + prefix,
        ...(token !== undefined && { "continuation-token": token }),
      };
      const answer = await this.#client.retried(() => this.#client.text({ method: "GET", key: "", query }));
      for (const [, entry] of answer.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const key = decodeURIComponent((tagOf(entry!, "Key") ?? "").replaceAll("+", " "));
        // Some servers list folders, too.
        if (key.endsWith("/")) continue;
        found.push({ path: key.slice(this.#address.prefix.length), bytes: Number(tagOf(entry!, "Size")) });
      }
      token = tagOf(answer, "IsTruncated") === "true" ? tagOf(answer, "NextContinuationToken") : undefined;
    } while (token !== undefined);
    return found.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  async delete(path: string): Promise<void> {
    const paths = path.endsWith("/") ? (await this.list(path)).map((each) => each.path) : [path];
    for (let at = 0; at < paths.length; at += deletesAtOnce) {
      await Promise.all(paths.slice(at, at + deletesAtOnce).map((each) => this.#delete(this.#key(each))));
    }
  }

  async #delete(key: string): Promise<void> {
    try {
      await this.#client.retried(() => this.#client.text({ method: "DELETE", key }));
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  uri(path: string): string {
    return `s3://${this.#address.bucket}/${this.#key(path)}`;
  }

  datasetPlace(path: string): string {
    return this.uri(path);
  }

  #key(path: string): string {
    if (path.startsWith("/") || path.split("/").includes("..")) {
      throw new Error(`object path ${JSON.stringify(path)} leaves the store`);
    }
    return this.#address.prefix + path;
  }

  close(): void {
    this.#client.close();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof S3Error && error.code === "ENOENT";
}
