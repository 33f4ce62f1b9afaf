import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { temporaryFolder } from "../../test/support/process.ts";
import { readTestCollection } from "./trec.ts";

let root: string;
before(async () => {
  root = await temporaryFolder();
});
after(() => rmSync(root, { recursive: true, force: true }));

const layouts: Readonly<Record<string, Readonly<Record<string, string | Buffer>>>> = {
  "tags in upper case, in one folder": {
    "README.md": "About this\ncollection of\nthree files\n",
    "doc-text.trec":
      "<DOC>\n<DOCNO>a</DOCNO>\nfirst text\n</DOC>\n<DOC>\n<DOCNO> b </DOCNO>\n<TITLE>x &amp; y</TITLE>\n</DOC>\n",
    "query-text.trec": "<top>\n<num>1</num><title>\nWHAT\n</title>\n</top>\n",
    qrels: "1 0 a 1\n1 0 b 2\n1 0 c 0\n",
  },
  "tags left open, folders and gzip": {
    "docs/one.gz": gzipSync("<doc><docno>a</docno>first text</doc><doc><docno>b</docno>x & y</doc>"),
    "topics/t.txt": "<top>\n<num> Number: 001\n<title> Topic: WHAT\n<desc> Description:\nmore\n</top>\n",
    "qrels/q.txt": "1\t0\ta\t1\n1\t0\tb\t2\n1\t0\tc\t0\n",
  },
  "a line of JSON each": {
    "corpus.jsonl": '{"_id":"a","title":"first","text":"text"}\n{"_id":"b","text":"x & y"}\n',
    "queries.jsonl": '{"_id":"1","text":"WHAT"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t2\n1\tc\t0\n",
    "qrels/train.tsv": "query-id\tcorpus-id\tscore\n7\ta\t1\n7\tb\t1\n7\tc\t1\n",
  },
  "topics numbered otherwise than judged": {
    docs: "<DOC><DOCNO>a</DOCNO>first text</DOC><DOC><DOCNO>b</DOCNO>x & y</DOC>",
    topics: '<topics><topic number="93"><query>WHAT</query></topic></topics>',
    "qrels.txt": "1 0 a 1\n1 0 b 2\n1 0 c 0\n",
  },
};

for (const [name, files] of Object.entries(layouts)) {
  test(`a test collection is read: ${name}`, () => {
    const folder = join(root, name.replaceAll(/\W/g, "-"));
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const { documents, topics, grades } = readTestCollection(folder);
    assert.deepEqual(documents, [
      { name: "a", text: "first text" },
      { name: "b", text: "x & y" },
    ]);
    assert.deepEqual(topics, [{ name: "1", text: "WHAT" }]);
    assert.deepEqual(Object.fromEntries(grades.get("1")!), { a: 1, b: 2, c: 0 });
    assert.equal(grades.size, 1);
  });
}
