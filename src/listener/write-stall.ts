import type { Socket } from "node:net";

interface StreamHandle {
  readonly bytesWritten?: number;
  readonly writeQueueSize?: number;
}

/**
 * Notices a peer that reads nothing. Only the socket's handle knows how much of one large write has left, so it is
 * asked where it can answer; without it, progress is seen once per finished write.
 */
export class WriteStall {
  readonly #socket: Socket;
  readonly #handle: StreamHandle | null;
  #sinceMs = 0;
  #sent = 0;
  #queued = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#handle = (socket as unknown as { _handle?: StreamHandle | null })._handle ?? null;
  }

  get pending(): boolean {
    return this.#socket.writableLength > 0 || this.#queuedBytes > 0;
  }

  get bytesWritten(): number {
    return this.#handle?.bytesWritten ?? this.#socket.bytesWritten;
  }

  /** How long data has been waiting without progress, where `sent` is a number that changes as data is sent. */
  stalledMs(nowMs: number, pending: boolean, sent: number): number {
    if (!pending) {
      this.#sinceMs = 0;
      return 0;
    }
    const queued = this.#queuedBytes;
    if (this.#sinceMs === 0 || sent !== this.#sent || queued !== this.#queued) {
      this.#sinceMs = nowMs;
      this.#sent = sent;
      this.#queued = queued;
    }
    return nowMs - this.#sinceMs;
  }

  get #queuedBytes(): number {
    return this.#handle?.writeQueueSize ?? this.#socket.writableLength;
  }
}
