import type { Socket } from "node:net";
import { errorBody } from "./registry.ts";
import type { Protocol } from "./sniff.ts";

const body = errorBody("unavailable", "too many connections are open; retry");
const http1Words = Buffer.from(
  [
    "HTTP/1.1 503 Service Unavailable",
    "content-type: application/json",
    "retry-after: 1",
    "connection: close",
    `content-length: ${body.length}`,
    "",
    body,
  ].join("\r\n"),
);

/** An empty SETTINGS, which must come first, and a GOAWAY that says that no request was looked at (RFC 9113, 6.8). */
function http2Goodbye(): Buffer {
  const enhanceYourCalm = 0x0b;
  const debug = Buffer.from(body);
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const goAway = Buffer.from([0, 0, 8 + debug.length, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, enhanceYourCalm]);
  return Buffer.concat([settings, goAway, debug]);
}

const http2Words = http2Goodbye();

/** Tells a client that there are too many, in its protocol, and closes. */
export function refuseConnection(socket: Socket, protocol: Protocol, lingerMs: number): void {
  socket.end(protocol === "http1" ? http1Words : http2Words);
  // What the client still sends is read and dropped: unread bytes would make the close a reset, which eats our words.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(timer));
}
