import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { AnySchema, anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { type CallOptions, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { type Table, tableFromIPC } from "apache-arrow";
import { encapsulated } from "../../../src/edge/flight/arrow/schema.ts";
import {
  FlightDescriptor_DescriptorType as DescriptorType,
  type FlightData,
  FlightService,
} from "../../../src/gen/arrow/flight/protocol/Flight_pb.ts";
import * as sql from "../../../src/gen/arrow/flight/protocol/FlightSql_pb.ts";

export function packed<S extends DescMessage>(schema: S, init: MessageInitShape<S>): Uint8Array<ArrayBuffer> {
  return toBinary(AnySchema, anyPack(schema, create(schema, init)));
}

export function unpacked<S extends DescMessage>(schema: S, bytes: Uint8Array): MessageShape<S> {
  return anyUnpack(fromBinary(AnySchema, bytes), schema)!;
}

export function descriptor<S extends DescMessage>(schema: S, init: MessageInitShape<S>) {
  return { type: DescriptorType.CMD, cmd: packed(schema, init) };
}

/** A stream of Flight data as a table. */
export function tableOf(all: readonly FlightData[]): Table {
  return tableFromIPC(Buffer.concat(all.flatMap((each) => [encapsulated(each.dataHeader), each.dataBody])));
}

/** Flight SQL as its own client libraries do it, with every step within reach. */
export class FlightTestClient {
  readonly raw;
  readonly headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string> = {}) {
    // Node's client drops a reply that comes while it has more than 10 MB to send.
    const nodeOptions = { maxSessionMemory: 100 };
    this.raw = createClient(FlightService, createGrpcTransport({ baseUrl: url, nodeOptions }));
    this.headers = headers;
  }

  async info<S extends DescMessage>(schema: S, init: MessageInitShape<S>, options: CallOptions = {}) {
    return await this.raw.getFlightInfo(descriptor(schema, init), { headers: this.headers, ...options });
  }

  /** The rows of a command. */
  async get<S extends DescMessage>(schema: S, init: MessageInitShape<S>, options: CallOptions = {}): Promise<Table> {
    const { endpoint } = await this.info(schema, init);
    return await this.take(endpoint[0]!.ticket!.ticket, options);
  }

  async take(ticket: Uint8Array, options: CallOptions = {}): Promise<Table> {
    const all: FlightData[] = [];
    for await (const data of this.raw.doGet(
      { ticket: ticket as Uint8Array<ArrayBuffer> },
      { headers: this.headers, ...options },
    ))
      all.push(data);
    return tableOf(all);
  }

  async query(query: string, options: CallOptions = {}): Promise<Table> {
    return await this.get(sql.CommandStatementQuerySchema, { query }, options);
  }

  async act(type: string, body: Uint8Array): Promise<Uint8Array[]> {
    const bodies: Uint8Array[] = [];
    for await (const result of this.raw.doAction(
      { type, body: body as Uint8Array<ArrayBuffer> },
      { headers: this.headers },
    ))
      bodies.push(result.body);
    return bodies;
  }

  async prepare(query: string) {
    const [body] = await this.act(
      "CreatePreparedStatement",
      packed(sql.ActionCreatePreparedStatementRequestSchema, { query }),
    );
    return unpacked(sql.ActionCreatePreparedStatementResultSchema, body!);
  }

  /** Sends the messages of an Arrow stream as the parameters of a prepared statement. */
  async put(command: Uint8Array, messages: readonly { metadata: Uint8Array; body: Uint8Array }[]) {
    const flightDescriptor = { type: DescriptorType.CMD, cmd: command as Uint8Array<ArrayBuffer> };
    async function* requests() {
      if (messages.length === 0) yield { flightDescriptor };
      for (const [i, { metadata, body }] of messages.entries()) {
        const data = { dataHeader: metadata as Uint8Array<ArrayBuffer>, dataBody: body as Uint8Array<ArrayBuffer> };
        yield i === 0 ? { flightDescriptor, ...data } : data;
      }
    }
    const results: Uint8Array[] = [];
    for await (const { appMetadata } of this.raw.doPut(requests(), { headers: this.headers }))
      results.push(appMetadata);
    return results;
  }
}

/** The metadata and the bodies of the messages of an Arrow stream, as Flight carries them. */
export function messagesOf(stream: Uint8Array): { metadata: Uint8Array; body: Uint8Array }[] {
  const messages: { metadata: Uint8Array; body: Uint8Array }[] = [];
  const view = new DataView(stream.buffer, stream.byteOffset, stream.byteLength);
  for (let at = 0; at + 8 < stream.byteLength; ) {
    const length = view.getInt32(at + 4, true);
    if (length === 0) break;
    const end = at + 8 + length;
    const next = nextMessage(stream, end);
    messages.push({ metadata: stream.subarray(at + 8, end), body: stream.subarray(end, next) });
    at = next;
  }
  return messages;
}

/** Bodies hold no mark of a message, which is four bytes of ones on a place that can be divided by eight. */
function nextMessage(stream: Uint8Array, from: number): number {
  for (let at = from; at + 4 <= stream.byteLength; at += 8) {
    if (stream.subarray(at, at + 4).every((byte) => byte === 0xff)) return at;
  }
  return stream.byteLength;
}

export const json = (table: Table): unknown =>
  JSON.parse(
    JSON.stringify(table.toArray(), (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value)),
  );
