import { crc32 } from "node:zlib";
import { recordCodec } from "../../../src/edge/rest/records/codec.ts";
import { recordText } from "../../../src/edge/rest/records/json.ts";
import {
  BatchCursor,
  completeBatch,
  decodeHeader,
  encodeBatch,
  headerBytes,
  sealBatch,
} from "../../../src/engine/log/record-batch.ts";
import { must, nothingToClose, type Target } from "../target.ts";
import { refusing } from "./properties.ts";

const key = Buffer.from("key");
const place = { baseOffset: 5, appendTimeMs: 1, prefixTimestampMs: 2, prefixRetentionMs: 3, bytesBefore: 4 };

function sealed(records: Parameters<typeof encodeBatch>[0]): Buffer {
  const batch = encodeBatch(records, 1_700_000_000_000);
  sealBatch(batch, key, place);
  return batch.bytes;
}

/** Two records, of which the second has a header of the first once more. */
function sealedCompact(): Buffer {
  const body = Buffer.of(0, 2, 2, 0x76, 0x81, 0, 1, 0x61, 2, 0x31, 0, 0, 1, 0x88);
  const batch = completeBatch(Buffer.concat([Buffer.alloc(headerBytes), body]), 2, 1_700_000_000_000, 94);
  sealBatch(batch, key, place);
  return batch.bytes;
}

const seeds: readonly Buffer[] = [
  sealed([{ value: Buffer.from("hello") }]),
  sealed([{}, { key: Buffer.from("k"), value: Buffer.alloc(0) }, { timestampMs: 7 }]),
  sealed([{ headers: [{ key: "h", value: Buffer.from("v") }, { key: "none" }], value: Buffer.alloc(40, 0xff) }]),
  sealedCompact(),
];

/** Damage as a disk does it leaves the sums wrong; with `mended` sums the walk over the records is reached too. */
function mended(input: Buffer): Buffer {
  if (input.length < headerBytes) return input;
  seeds[0]!.copy(input, 16, 16, 64);
  input.writeUInt32LE(crc32(input.subarray(headerBytes)), 8);
  input.writeUInt32LE(input.length - headerBytes, 64);
  input[0] = 0xb7;
  if (input[1] !== 2) input[1] = 1;
  input.writeUInt16LE(0, 2);
  input.writeUInt32LE(crc32(input.subarray(8, headerBytes), crc32(key)), 4);
  return input;
}

const countMax = 100_000;

function texts(bytes: Buffer): string[] {
  const cursor = new BatchCursor(key, bytes);
  const found: string[] = [];
  while (found.length < countMax && cursor.next()) found.push(recordText(cursor));
  return found;
}

function moduleText(bytes: Buffer): string {
  const cursor = new BatchCursor(key, bytes);
  cursor.next();
  return (
    recordCodec()
      .encode(cursor, 1 << 20, true)
      ?.toString() ?? ""
  );
}

/** A damaged batch is told to be damaged; the module of SIMD and JavaScript write the same text of one that is not. */
export const recordBatch: Target = {
  name: "record-batch",
  open: async () => ({
    ...nothingToClose,
    inputs: {
      kind: "guided",
      seeds,
      words: ["\u0000", "\u0001"],
      bytesMax: 600,
      sources: ["src/engine/log/record-batch.ts", "src/engine/log/compact-batch.ts", "src/edge/rest/records/"],
      mend: (input, dice) => (dice.chance(0.7) ? mended(input) : input),
    },
    run: (input) => {
      refusing(() => decodeHeader(key, input), "internal");
      const found = refusing(() => texts(input), "internal");
      if (found === undefined || found.length === 0 || found.length === countMax) return;
      // No writer stores a time that is no count of milliseconds.
      if (!found.every((text) => /^\{"offset":\d+,"timestamp_ms":\d{1,15}[,}]/.test(text))) return;
      const text = moduleText(input);
      must(found.join(",").startsWith(text), "the module writes another text", () => [found, text]);
    },
  }),
};
