import type { Socket } from "node:net";

export type Protocol = "http1" | "http2";

/** "PRI" opens the HTTP/2 preface; no HTTP/1 method we could serve starts with it. */
const http2Start = Buffer.from("PRI", "latin1");

/** What the first bytes say, or undefined while they could still become either. */
export function tell(bytes: Uint8Array): Protocol | undefined {
  for (let i = 0; i < http2Start.length; i++) {
    if (i === bytes.length) return undefined;
    if (bytes[i] !== http2Start[i]) return "http1";
  }
  return "http2";
}

/**
 * Reads a new socket until its protocol is known, puts the bytes back and calls `decided` once. A peer that closes
 * before is closed. The caller sets the deadline and listens to errors.
 */
export function sniff(socket: Socket, decided: (protocol: Protocol) => void): void {
  // Bytes are held here and not put back while waiting: `unshift` would raise 'readable' again, for ever.
  let received: Buffer | undefined;
  const onReadable = () => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    received = received === undefined ? chunk : Buffer.concat([received, chunk]);
    const protocol = tell(received);
    if (protocol === undefined) return;
    socket.off("readable", onReadable);
    socket.off("end", onEnd);
    socket.unshift(received);
    decided(protocol);
  };
  const onEnd = () => socket.destroy();
  socket.on("readable", onReadable);
  socket.on("end", onEnd);
}
