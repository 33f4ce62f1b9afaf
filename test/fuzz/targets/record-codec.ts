import { isDeepStrictEqual } from "node:util";
import { parseJson } from "../../../src/edge/rest/http/body.ts";
import { parseLargeJson } from "../../../src/edge/rest/http/large-json.ts";
import { compileSchema } from "../../../src/edge/rest/http/validation.ts";
import { recordCodec } from "../../../src/edge/rest/records/codec.ts";
import { encodeRecordsInTurns, parseRecords, type RecordJson } from "../../../src/edge/rest/records/json.ts";
import { appendBody } from "../../../src/edge/rest/records/routes.ts";
import { EngineError } from "../../../src/engine/errors.ts";
import { type EncodedBatch, encodeBatch, headerBytes } from "../../../src/engine/log/record-batch.ts";
import { must, nothingToClose, type Target } from "../target.ts";
import { refusing } from "./properties.ts";

const nowMs = 1_700_000_000_123;
const validate = compileSchema({ schema: appendBody, httpPart: "body", method: "POST", url: "/" });

/** What the way of JavaScript makes of a body; undefined where it refuses it. */
function reference(body: Buffer): { records: readonly RecordJson[]; batch: EncodedBatch } | undefined {
  return refusing(() => {
    const parsed = parseJson(body);
    if (validate(parsed) !== true) return undefined;
    const { records, match_offset } = parsed as { records: RecordJson[]; match_offset?: number | null };
    if (match_offset != null) return undefined;
    return { records, batch: encodeBatch(parseRecords(records), nowMs) };
  }, "invalid_argument");
}

function same(found: EncodedBatch, wanted: EncodedBatch, how: string): void {
  must(found.count === wanted.count, `${how}: count`, () => [found.count, wanted.count]);
  must(found.maxTimestampMs === wanted.maxTimestampMs, `${how}: timestamp`);
  must(found.bytes.readUInt32LE(8) === wanted.bytes.readUInt32LE(8), `${how}: checksum`);
  must(found.bytes.subarray(headerBytes).equals(wanted.bytes.subarray(headerBytes)), `${how}: bytes`, () => [
    found.bytes.toString("hex"),
    wanted.bytes.toString("hex"),
  ]);
}

function plainJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** What the module of SIMD takes, JavaScript takes too, and makes the same bytes of it. */
export const recordCodecTarget: Target = {
  name: "record-codec",
  open: async () => ({
    ...nothingToClose,
    inputs: {
      kind: "guided",
      seeds: [
        '{"records":[{"value":"aGVsbG8="}]}',
        '{ "records" : [ {"key":"a2V5","value":"AAAAAAAAAAAAAAAAAAAAAAAA","timestamp_ms":1700000000000} , {} ] }',
        '{"records":[{"value":"/+9B","headers":[{"key":"h\\u00e9","value":"AA=="},{"key":""}]}]}',
        '{"records":[{"value":null,"key":null,"headers":null,"timestamp_ms":null}],"match_offset":3}',
        `{"records":[{"value":"${"A".repeat(64)}"},{"key":"QQ==","value":""}]}`,
      ],
      words: [
        ...[
          '"records"',
          '"key"',
          '"value"',
          '"timestamp_ms"',
          '"headers"',
          '"match_offset"',
          "{}",
          "[]",
          "null",
          "A===",
        ],
        ...["AA==", "AAA=", "-_", "\\u0041", "999999999999999", "9007199254740991", "9007199254740992", "1e3", "0.0"],
        "A".repeat(16),
        "A".repeat(48),
        " ".repeat(16),
      ],
      bytesMax: 3_000,
      sources: ["src/edge/rest/records/", "src/edge/rest/http/large-json.ts", "src/engine/log/record-batch.ts"],
    },
    run: async (input) => {
      const wanted = reference(input);
      const shorter = wanted && (await encodeRecordsInTurns(wanted.records, nowMs));
      if (shorter !== undefined) same(shorter, wanted!.batch, "the two ways of JavaScript differ");
      const decoded = recordCodec().decode(input, nowMs);
      if (decoded !== undefined) {
        must(wanted !== undefined, "the module takes what JavaScript refuses", () => input.toString());
        same(decoded, wanted.batch, "the module differs");
      }
      const pieces = await parseLargeJson(input).catch((error: unknown) => {
        // What begins as a list is no body, whatever follows.
        must(error instanceof EngineError && /^\s*\[/.test(input.toString("latin1")), "JSON in pieces is refused", () =>
          String(error),
        );
        return undefined;
      });
      if (pieces !== undefined) must(isDeepStrictEqual(pieces, plainJson(input)), "JSON in pieces is read otherwise");
    },
  }),
};
