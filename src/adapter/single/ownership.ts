import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { createServer, type Server } from "node:net";
import type { Ownership } from "../../port/ownership.ts";

/**
 * A machine of its own: the process that holds the data directory's lock is the owner. The lock is a socket in
 * Linux's abstract name space, which goes with its process however that ends, so no stale lock is left behind.
 */
export class SingleOwnership implements Ownership {
  readonly #directory: string;
  #lock: Server | undefined;
  readonly epoch = 1;

  constructor(directory: string) {
    this.#directory = directory;
  }

  get isOwner(): boolean {
    return this.#lock !== undefined;
  }

  async acquire(_signal: AbortSignal): Promise<void> {
    if (this.isOwner) return;
    const digest = createHash("sha256").update(realpathSync(this.#directory)).digest("hex");
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) => {
        const isInUse = error.code === "EADDRINUSE";
        reject(isInUse ? new Error(`another process uses the data directory ${this.#directory}`) : error);
      });
      server.listen(`\0native-engine-${digest}`, resolve);
    });
    server.unref();
    this.#lock = server;
  }

  /** The lock goes only with the process. */
  async confirm(): Promise<void> {
    if (!this.isOwner) throw new Error(`the data directory ${this.#directory} is not this process's`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const lock = this.#lock;
    this.#lock = undefined;
    if (lock !== undefined) await new Promise((resolve) => lock.close(resolve));
  }
}
