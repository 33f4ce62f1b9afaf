import { create } from "@bufbuild/protobuf";
import { Field, Float64, Int32, List, Table, tableFromArrays, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { ParameterReader } from "../../../src/edge/flight/parameters.ts";
import { FlightDataSchema } from "../../../src/gen/arrow/flight/protocol/Flight_pb.ts";
import { messagesOf } from "../../wire/flight/client.ts";
import { must, nothingToClose, type Target } from "../target.ts";
import { refusing } from "./properties.ts";

/** A message is the lengths of its metadata and of its body, and both. */
function joined(messages: readonly { readonly metadata: Uint8Array; readonly body: Uint8Array }[]): Buffer {
  return Buffer.concat(
    messages.flatMap(({ metadata, body }) => {
      const head = Buffer.alloc(4);
      head.writeUInt16LE(metadata.length, 0);
      head.writeUInt16LE(body.length, 2);
      return [head, metadata, body];
    }),
  );
}

function* messages(input: Buffer): Iterable<{ metadata: Uint8Array<ArrayBuffer>; body: Uint8Array<ArrayBuffer> }> {
  let at = 0;
  while (at + 4 <= input.length) {
    const metadataEnd = at + 4 + input.readUInt16LE(at);
    const bodyEnd = metadataEnd + input.readUInt16LE(at + 2);
    yield {
      metadata: Uint8Array.from(input.subarray(at + 4, metadataEnd)),
      body: Uint8Array.from(input.subarray(metadataEnd, bodyEnd)),
    };
    at = bodyEnd;
  }
}

function seeds(): Buffer[] {
  const lists = vectorFromArray([[1, 2], null, []], new List(new Field("item", new Int32(), true)));
  const tables = [
    tableFromArrays({ a: Int32Array.from([1, 2, 3]), b: Float64Array.from([0.5, 1, 2]) }),
    new Table({
      t: vectorFromArray(["x", null, "yz"], new Utf8()),
      l: lists,
      f: vectorFromArray([1, 2, 3], new Float64()),
    }),
    tableFromArrays({ i: BigInt64Array.from([1n]), u: Uint8Array.from([1]), d: [new Date(0)], flag: [true] }),
  ];
  return tables.map((table) => joined(messagesOf(tableToIPC(table, "stream"))));
}

/** The Arrow messages of a client's parameters. */
export const arrow: Target = {
  name: "arrow",
  open: async () => ({
    ...nothingToClose,
    inputs: { kind: "guided", seeds: seeds(), words: [], bytesMax: 4_000, sources: ["src/edge/flight/"] },
    run: (input) => {
      const reader = new ParameterReader();
      for (const { metadata, body } of messages(input)) {
        const data = create(FlightDataSchema, { dataHeader: metadata, dataBody: body });
        refusing(() => reader.add(data), "invalid_argument");
      }
      must(reader.rows.length <= 1_000, "too many rows");
    },
  }),
};
