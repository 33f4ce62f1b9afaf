import { Extractor } from "../../../src/engine/search/document.ts";
import { evaluateFilter } from "../../../src/engine/search/filter/evaluate.ts";
import { parseFilter } from "../../../src/engine/search/filter/parse.ts";
import { openSegment, SegmentReader } from "../../../src/engine/search/index/segment.ts";
import { mergeSegments } from "../../../src/engine/search/index/segment-writer.ts";
import { TailIndex } from "../../../src/engine/search/index/tail.ts";
import { parseTextQuery } from "../../../src/engine/search/text/query.ts";
import { searchText } from "../../../src/engine/search/text/search.ts";
import { schema } from "../../model/search/model.ts";
import { must, nothingToClose, type Target } from "../target.ts";
import { refusing } from "./properties.ts";

function segmentOf(count: number): Buffer {
  const tail = new TailIndex(schema);
  const extractor = new Extractor(schema);
  for (let id = 0; id < count; id++) {
    const source = { body: `ant bee ${id % 3}`, tag: [`t${id % 2}`], n: [id], x: id / 2, flag: id % 2 === 0 };
    tail.add(id, 1, extractor.extract(source, { c: [1, 0, id] }, {}));
  }
  return Buffer.from(mergeSegments(schema, [tail]));
}

/** Reads what a segment has, as a query does. */
function use(bytes: Buffer): void {
  const reader = new SegmentReader(openSegment(bytes));
  evaluateFilter(
    parseFilter({ bool: { must: [{ term: { tag: "t1" } }, { range: { n: { gt: 0 } } }] } }, schema),
    reader,
  );
  searchText([reader], parseTextQuery(schema, "body", 'ant "ant bee"'), 5);
}

/** Where the bytes of a segment do not count: the space that aligns its sections. */
function isPadding(bytes: Buffer, at: number): boolean {
  return bytes[at] === 0;
}

/** What is damaged is told to be so, by its header or by its sums; nothing else is ever thrown. */
export const segments: Target = {
  name: "segments",
  open: async () => {
    const good = [segmentOf(1), segmentOf(5)];
    return {
      ...nothingToClose,
      inputs: {
        kind: "guided",
        seeds: good,
        words: ["NSEG", '"sections":', '"at":', '"bytes":', '"type":"u32"', '"crc":'],
        bytesMax: 20_000,
        sources: ["src/engine/search/index/segment"],
      },
      run: (input) => {
        const segment = refusing(() => openSegment(input), "internal");
        if (segment === undefined) return;
        const isWhole = refusing(() => {
          segment.verify();
          return true;
        }, "internal");
        if (isWhole !== true) return;
        use(input);
        const base = good.find((each) => each.length === input.length);
        if (base === undefined) return;
        for (let at = 0; at < base.length; at++) {
          must(base[at] === input[at] || isPadding(base, at), "damage that nobody noticed", () => at);
        }
      },
    };
  },
};
