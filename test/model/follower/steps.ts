import fc from "fast-check";
import { parseOps } from "../../../src/edge/rest/documents/json.ts";
import { devLoopback } from "../../../src/engine/auth/principal.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import type { LiveObject } from "../../../src/engine/live/value.ts";
import { parseFields, parseSchema } from "../../../src/engine/schema/schema-parse.ts";

/** A change of any kind. Names are few, so that what is dropped is made again and met by others. */
export type Step = (engine: Engine) => Promise<unknown>;

const pick = (...names: string[]) => fc.constantFrom(...names);
const namespace = fc.constantFrom("n", "n", "n", "m");
const stream = pick("a", "b");
const collection = pick("c", "d");
const link = pick("k", "l");
const words = pick("one", "two", "one two", "three");
const document = fc.record({ id: fc.nat(11), body: words, tag: pick("a", "b") }, { noNullPrototype: true });
const retention = fc.constantFrom(
  undefined,
  { maxAgeMs: null, maxBytes: 150 },
  { maxAgeMs: 3_600_000, maxBytes: null },
  { maxAgeMs: null, maxBytes: 1 },
);

const text = (name: string, indexed = true) => ({
  name,
  source_path: name,
  kind: { text: { analyzer: "standard" } },
  indexed,
});
const keyword = (name: string) => ({ name, source_path: name, kind: { keyword: {} }, indexed: true });
const fields = [text("body"), keyword("tag")];

const live = (engine: Engine, of: string, name: string, args: LiveObject) =>
  engine.live.mutate({ namespace: of, function: name, args, principal: devLoopback }, { requestId: "" });

const namespaces = fc.oneof(
  namespace.map(
    (name): Step =>
      (engine) =>
        engine.metastore.createNamespace(name),
  ),
  fc.constant<Step>((engine) => engine.metastore.deleteNamespace("m")),
  fc.tuple(namespace, fc.constantFrom(null, 100, 200)).map(
    ([name, maxRequestsPerSecond]): Step =>
      (engine) =>
        engine.quotas.set(name, { maxBytes: null, maxRequestsPerSecond }),
  ),
);

const streams = fc.oneof(
  fc.tuple(namespace, stream, fc.constantFrom(1, 2), retention).map(
    ([of, name, partitions, kept]): Step =>
      (engine) =>
        engine.streams.create({ namespace: of, stream: name }, partitions, kept),
  ),
  fc.tuple(namespace, stream, retention).map(
    ([of, name, kept]): Step =>
      (engine) =>
        engine.streams.setRetention({ namespace: of, stream: name }, kept),
  ),
  fc.tuple(namespace, stream).map(
    ([of, name]): Step =>
      (engine) =>
        engine.streams.drop({ namespace: of, stream: name }),
  ),
);

const appends = fc.oneof(
  fc.tuple(namespace, stream, fc.nat(1), fc.array(document, { minLength: 1, maxLength: 4 })).map(
    ([of, name, partition, documents]): Step =>
      (engine) =>
        engine.streams.append({
          namespace: of,
          stream: name,
          partition,
          records: documents.map((each) => ({ key: Buffer.from(each.tag), value: Buffer.from(JSON.stringify(each)) })),
        }),
  ),
  fc.tuple(namespace, stream, fc.nat(5)).map(
    ([of, name, id]): Step =>
      (engine) =>
        engine.events.append({
          namespace: of,
          stream: name,
          events: [{ specversion: "1.0", id: `${id}`, source: "/s", type: "t", extensions: [] }],
        } as unknown as Parameters<Engine["events"]["append"]>[0]),
  ),
);

const collections = fc.oneof(
  fc.tuple(namespace, collection).map(
    ([of, name]): Step =>
      (engine) =>
        engine.collections.create(of, name, parseSchema({ fields, dynamic: "dynamic" })),
  ),
  fc.tuple(namespace, collection).map(
    ([of, name]): Step =>
      (engine) =>
        engine.collections.drop(of, name),
  ),
  fc.tuple(namespace, collection, pick("x", "y")).map(
    ([of, name, field]): Step =>
      (engine) =>
        engine.collections.addFields(of, name, parseFields("fields", [text(field)]), undefined),
  ),
  fc.tuple(namespace, collection, fc.boolean()).map(
    ([of, name, isAdded]): Step =>
      (engine) =>
        engine.collections.updateAliases(of, [
          isAdded ? { kind: "add", alias: "z", collection: name } : { kind: "remove", alias: "z" },
        ]),
  ),
  fc.tuple(namespace, collection, fc.boolean()).map(
    ([of, name, isHot]): Step =>
      (engine) =>
        engine.collections.setHot(of, name, isHot),
  ),
);

const op = fc.oneof(
  { weight: 4, arbitrary: document.map(({ id, ...source }) => ({ upsert: { id, source } })) },
  {
    weight: 1,
    arbitrary: document.map(({ id, ...source }) => ({ upsert: { id, source: { ...source, x: "one", n: id } } })),
  },
  { weight: 2, arbitrary: fc.nat(11).map((id) => ({ delete: { id } })) },
);
const documents = fc.tuple(namespace, pick("c", "d", "z"), fc.array(op, { minLength: 1, maxLength: 6 })).map(
  ([of, name, ops]): Step =>
    async (engine) => {
      const ref = { namespace: of, collection: name };
      return engine.documents.write(ref, await parseOps(ops, engine.documents.find(ref).schema), 100);
    },
);

const links = fc.oneof(
  fc.tuple(namespace, link, stream, collection, fc.boolean()).map(
    ([of, name, source, into, counts]): Step =>
      (engine) =>
        engine.links.create({
          namespace: of,
          name,
          source,
          target: counts ? { kind: "counter", name: "t" } : { kind: "collection", name: into },
          options: counts ? { amount: { json: "/id" } } : {},
        }),
  ),
  fc.tuple(namespace, link).map(
    ([of, name]): Step =>
      (engine) =>
        engine.links.delete(of, name),
  ),
);

const lives = fc.oneof(
  fc.tuple(namespace, pick("u", "v")).map(
    ([of, table]): Step =>
      (engine) =>
        live(engine, of, "_tables:create", { table }),
  ),
  fc.tuple(namespace, pick("u", "v"), fc.nat(9)).map(
    ([of, table, n]): Step =>
      (engine) =>
        live(engine, of, "_tables:insert", { table, document: { n } }),
  ),
);

/** Changes that are made at once, so that some share a commit. */
export const steps = fc.array(
  fc.array(
    fc.oneof(
      { weight: 2, arbitrary: namespaces },
      { weight: 3, arbitrary: streams },
      { weight: 6, arbitrary: appends },
      { weight: 4, arbitrary: collections },
      { weight: 8, arbitrary: documents },
      { weight: 3, arbitrary: links },
      { weight: 2, arbitrary: lives },
    ),
    { minLength: 1, maxLength: 4 },
  ),
  { minLength: 4, maxLength: 14 },
);

/** So that most changes find what they are about. */
export const first: readonly Step[] = [
  (engine) => engine.metastore.createNamespace("n"),
  (engine) => engine.streams.create({ namespace: "n", stream: "a" }, 2, undefined),
  (engine) => engine.collections.create("n", "c", parseSchema({ fields, dynamic: "dynamic" })),
  (engine) => live(engine, "n", "_tables:create", { table: "u" }),
  (engine) =>
    engine.links.create({
      namespace: "n",
      name: "k",
      source: "a",
      target: { kind: "collection", name: "c" },
      options: {},
    }),
];
