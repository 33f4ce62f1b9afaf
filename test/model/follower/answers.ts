import { parseFilterField } from "../../../src/edge/rest/documents/json.ts";
import { memberNames, rowTexts } from "../../../src/edge/rest/sql/json.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import { EngineError } from "../../../src/engine/errors.ts";
import { parseQuery } from "../../../src/engine/retrieval/parse.ts";

/** What a read says, or why it says nothing. */
async function said(read: () => unknown): Promise<unknown> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof EngineError) return `${error.reason}: ${error.message}`;
    throw error;
  }
}

async function streamsOf({ streams, log, metastore }: Engine, namespace: string): Promise<unknown> {
  const found: unknown[] = [];
  for (const meta of [...metastore.allStreams(metastore.namespace(namespace))]) {
    found.push(await streams.detail({ namespace, stream: meta.name }, []));
    for (let partition = 0; partition < meta.partitions; partition++) {
      const records: unknown[] = [];
      for (const batch of log.read(meta, partition, log.startOffset(meta, partition))) {
        while (batch.next()) records.push([batch.offset, batch.value?.toString("latin1")]);
      }
      found.push(records, log.storedBytes(meta, partition));
    }
  }
  return found;
}

async function collectionOf(engine: Engine, namespace: string, collection: string): Promise<unknown> {
  const { documents, queries, collections } = engine;
  const ref = { namespace, collection };
  const { schema } = documents.find(ref);
  const tagged = parseFilterField("filter", { term: { tag: "a" } }, schema);
  const filled = parseFilterField("filter", { exists: { field: "body" } }, schema);
  const found: unknown[] = [];
  for (const eventual of [false, true]) {
    const read = { token: [], eventual };
    found.push(await said(() => documents.count(ref, undefined, read)));
    found.push(await said(() => documents.count(ref, tagged, read)));
    const page = { filter: filled, limit: 5, cursor: undefined };
    found.push(await said(async () => (await documents.scroll(ref, page, read)).documents));
    const query = {
      from: collection,
      consistency: eventual ? "eventual" : "strong",
      retrieve: [{ text: { field: "body", query: "one two" } }],
      select: ["*"],
    };
    const result = await said(async () => {
      const { rows, token } = await queries.run(
        namespace,
        parseQuery(query, () => schema),
        [],
      );
      return { rows, token };
    });
    found.push(result);
  }
  const ids = Array.from({ length: 12 }, (_, id) => id);
  found.push(await said(() => documents.get(ref, ids, { token: [], eventual: false })));
  const { hot, ...info } = collections.get(namespace, collection);
  return [
    found,
    info,
    hot.enabled,
    collections.versions(namespace, collection),
    collections.scan(namespace, collection),
  ];
}

async function sqlOf({ sql }: Engine, namespace: string, query: string): Promise<unknown> {
  return said(async () => {
    await using result = await sql.run({ namespace, query, params: [], token: [], consistency: "eventual" });
    const rows: unknown[] = [];
    const names = memberNames(result.columns);
    for (let batch = await result.next(); batch !== undefined; batch = await result.next()) {
      rows.push([...rowTexts(names, batch, true)].join(""));
    }
    return { columns: result.columns, rows, token: result.token };
  });
}

/** Everything that an engine says to whoever reads, one thing after another. */
export async function answersOf(engine: Engine, hasSql: boolean): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const { name, id } of [...engine.metastore.namespaces()]) {
    answers[name] = [id, engine.metastore.findNamespace(name), engine.quotas.of(name)];
    answers[`${name} streams`] = await streamsOf(engine, name);
    answers[`${name} aliases`] = engine.collections.aliases(name);
    for (const { link, status } of engine.links.list(name)) {
      const { error: _, ...detail } = await engine.links.detail(name, link.name, {
        token: [],
        consistency: "eventual",
      });
      const { source, worker } = engine.links.find(name, link.name);
      const applied = Array.from({ length: source?.partitions ?? 0 }, (_, partition) => worker?.applied(partition));
      answers[`${name} link ${link.name}`] = [status, detail, applied];
    }
    const { infos } = engine.collections.list(name, 100, "");
    for (const { meta } of infos) answers[`${name} ${meta.name}`] = await collectionOf(engine, name, meta.name);
    for (const query of hasSql ? await statementsOf(engine, name) : [])
      answers[query] = await sqlOf(engine, name, query);
  }
  return answers;
}

async function statementsOf({ sql }: Engine, namespace: string): Promise<string[]> {
  const tables = await sql.tables(namespace);
  return tables.map(({ schema, name }) => `SELECT * FROM ${schema}."${name}" ORDER BY ALL`);
}
