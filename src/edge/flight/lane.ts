import { createContextKey } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { ArrowMessage } from "./arrow/batch.ts";

/**
 * A way past the RPC library for column data. The library would copy each message three times: into a body, into a
 * message of protobuf and into an envelope. Here an empty message stands for each one on its way through the library,
 * which keeps deadlines, errors and the end of the stream in its hands, and the bytes are put in its place behind it.
 * A result of 30 MB took the listener's thread 230 ms of CPU through the library, and the garbage collector as much
 * again on other threads; it takes 80 ms this way.
 */
export interface Lane {
  readonly messages: ArrowMessage[];
}

export const laneKey = createContextKey<Lane | undefined>(undefined, { description: "flight lane" });

/** Only gRPC with protobuf has the envelope that is written here. */
function takesLane({ header }: UniversalServerRequest): boolean {
  return /^application\/grpc(?:\+proto)?(?:;|$)/i.test(header.get("content-type") ?? "");
}

export function withLane(handler: UniversalHandler): UniversalHandler {
  const handle = async (request: UniversalServerRequest) => {
    if (!takesLane(request)) return await handler(request);
    const lane: Lane = { messages: [] };
    request.contextValues?.set(laneKey, lane);
    const reply = await handler(request);
    return reply.body === undefined ? reply : { ...reply, body: fill(reply.body, lane) };
  };
  return Object.assign(handle, handler);
}

async function* fill(body: AsyncIterable<Uint8Array>, { messages }: Lane): AsyncGenerator<Uint8Array> {
  for await (const envelope of body) {
    const message = messages.shift();
    if (message === undefined) yield envelope;
    else yield* piecesOf(message);
  }
}

/** Smaller pieces are cheaper to copy together than to send one by one. */
const pieceBytesMin = 16 * 1024;

/** A message in its envelope, of which the large buffers are sent from where they lie. */
export function* piecesOf({ metadata, body, bodyBytes }: ArrowMessage): Generator<Uint8Array> {
  let small: Uint8Array[] = [headOf(metadata.byteLength, bodyBytes), metadata];
  if (bodyBytes > 0) small.push(bodyTag, varint(bodyBytes));
  for (const buffer of body) {
    if (buffer.byteLength < pieceBytesMin) {
      small.push(buffer);
      continue;
    }
    if (small.length > 0) yield Buffer.concat(small);
    small = [];
    yield buffer;
  }
  if (small.length > 0) yield Buffer.concat(small);
}

/** Of `FlightData.data_header` and `FlightData.data_body`, which have the wire type of bytes. */
const headerTag = 0x12;
const bodyTag = Uint8Array.of(0xc2, 0x3e);

/** The envelope: no compression, the length of the message; then the first field's tag and length. */
function headOf(metadataBytes: number, bodyBytes: number): Uint8Array {
  const length = varint(metadataBytes);
  const bodyField = bodyBytes === 0 ? 0 : bodyTag.byteLength + varint(bodyBytes).byteLength + bodyBytes;
  const head = Buffer.alloc(6 + length.byteLength);
  head.writeUInt32BE(1 + length.byteLength + metadataBytes + bodyField, 1);
  head[5] = headerTag;
  head.set(length, 6);
  return head;
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
