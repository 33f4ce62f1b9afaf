/** Just enough HTTP/2 (RFC 9113) to be rude in it. */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export const frameType = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, windowUpdate: 8 } as const;

const endStream = 0x1;
const endHeaders = 0x4;

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export const settings = frame(frameType.settings, 0, 0);
export const greeting = Buffer.concat([preface, settings]);

/** The static table of HPACK holds these names and values: scheme http, path /, and one literal authority. */
export function headers(stream: number, method: "GET" | "POST"): Buffer {
  const block = Buffer.from([method === "GET" ? 0x82 : 0x83, 0x86, 0x84, 0x41, 0x01, 0x61]);
  return frame(frameType.headers, endHeaders | (method === "GET" ? endStream : 0), stream, block);
}

export function reset(stream: number): Buffer {
  return frame(frameType.reset, 0, stream, Buffer.from([0, 0, 0, 8]));
}

export function ping(): Buffer {
  return frame(frameType.ping, 0, 0, Buffer.alloc(8));
}
