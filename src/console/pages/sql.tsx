import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import { firstStreams, listCollections } from "../lib/pages.ts";
import { href, replaceParams, route } from "../lib/router.ts";
import { faultPosition } from "../lib/sql-fault.ts";
import type { LinkItem, SqlAnswer } from "../lib/types.ts";
import { useAction, useLoad } from "../lib/use-load.ts";
import { Editor } from "../ui/editor.tsx";
import type { Tables } from "../ui/editor-core.ts";
import { Button, Card, Empty, Loading, PageHead, ProblemNotice } from "../ui/parts.tsx";
import { SqlResults } from "../ui/sql-results.tsx";

const streamColumns = ["partition", "offset", "timestamp", "key", "value", "headers"];
const linkColumns = ["counter", "value"];
/** Names beyond these are not offered while writing. */
const tablesOffered = 500;

function quoted(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

async function loadTables(ns: string, signal: AbortSignal): Promise<Tables> {
  const [collections, streams, { links }] = await Promise.all([
    listCollections(ns, signal),
    firstStreams(ns, tablesOffered, signal),
    call<{ links: LinkItem[] }>(nsPath(ns, "links"), { signal }),
  ]);
  const tables: Record<string, readonly string[]> = {};
  for (const { name, schema } of collections.slice(0, tablesOffered)) {
    const columns = [
      "_id",
      ...schema.fields.map((field) => field.name),
      ...(schema.vectors ?? []).map((vector) => vector.name),
      "_source",
    ];
    tables[quoted(name)] = columns;
    tables[`collections.${quoted(name)}`] = columns;
  }
  for (const { name } of streams) tables[`streams.${quoted(name)}`] = streamColumns;
  for (const { name, target } of links.slice(0, tablesOffered))
    if (target.kind === "counter") tables[`links.${quoted(name)}`] = linkColumns;
  return tables;
}

/** Runs one statement at a time: a new one stops the one before it. */
function useStatement(ns: string, query: string) {
  const [answer, setAnswer] = useState<{ readonly sql: SqlAnswer; readonly ms: number } | undefined>();
  const running = useRef<AbortController | undefined>(undefined);
  const run = useAction(async () => {
    running.current?.abort();
    running.current = new AbortController();
    replaceParams({ query, run: 1 });
    const startMs = performance.now();
    try {
      const sql = await call<SqlAnswer>(nsPath(ns, "sql"), { body: { query }, signal: running.current.signal });
      setAnswer({ sql, ms: performance.now() - startMs });
    } catch (error) {
      setAnswer(undefined);
      if (running.current.signal.aborted) throw new Error("You have stopped the query.");
      throw error;
    }
  });
  return { run, answer, stop: () => running.current?.abort() };
}

function useElapsedMs(isRunning: boolean): number {
  const [elapsedMs, setElapsedMs] = useState(0);
  useEffect(() => {
    if (!isRunning) return;
    const startMs = performance.now();
    const timer = setInterval(() => setElapsedMs(performance.now() - startMs), 100);
    return () => {
      clearInterval(timer);
      setElapsedMs(0);
    };
  }, [isRunning]);
  return elapsedMs;
}

export function SqlPage({ ns }: { readonly ns: string }) {
  const [query, setQuery] = useState(() => route.peek().params.get("query") ?? "");
  const [revision, setRevision] = useState(0);
  const tables = useLoad((signal) => loadTables(ns, signal), [ns]);
  const { run, answer, stop } = useStatement(ns, query);
  const elapsedMs = useElapsedMs(run.busy);
  useEffect(() => {
    if (route.peek().params.has("run") && query !== "") void run.run();
    return stop;
  }, []);
  const change = (next: string) => {
    setQuery(next);
    replaceParams({ query: next, run: undefined });
    run.clear();
  };
  const pick = (next: string) => {
    change(next);
    setRevision((was) => was + 1);
  };
  const faultAt = useMemo(
    () => (run.problem === undefined ? undefined : faultPosition(run.problem, query)),
    [run.problem],
  );
  const view = route.value.params.get("view") ?? "table";
  return (
    <>
      <PageHead title="SQL" note="Collections, streams and counters as tables; read only." />
      <Card>
        <Editor
          language="sql"
          label="SQL query"
          value={query}
          revision={revision}
          onChange={change}
          onRun={() => void run.run()}
          lines
          minHeight={150}
          hint="SELECT * FROM …"
          faultAt={faultAt}
          {...(tables.data === undefined ? {} : { tables: tables.data })}
        />
        <div class="toolbar">
          <Button
            kind="primary"
            icon="play"
            busy={run.busy}
            disabled={query.trim() === ""}
            onClick={() => void run.run()}
          >
            Run
          </Button>
          {run.busy ? <Button onClick={stop}>Stop</Button> : null}
          <span class="muted" role="status">
            {run.busy ? `Running, ${(elapsedMs / 1000).toFixed(1)} s` : <Shortcut />}
          </span>
        </div>
        {run.busy ? <Loading label="Running the query" /> : null}
        <ProblemNotice problem={run.problem} />
      </Card>
      {answer === undefined ? (
        run.problem === undefined && !run.busy ? (
          <Starters ns={ns} tables={tables.data} onPick={pick} />
        ) : null
      ) : (
        <SqlResults answer={answer.sql} ms={answer.ms} view={view} onView={(next) => replaceParams({ view: next })} />
      )}
    </>
  );
}

function Shortcut() {
  return (
    <>
      <kbd>Ctrl</kbd> <kbd>Enter</kbd> runs it
    </>
  );
}

/** Queries to begin with, made of what there is. */
function Starters({
  ns,
  tables,
  onPick,
}: {
  readonly ns: string;
  readonly tables: Tables | undefined;
  readonly onPick: (query: string) => void;
}) {
  const names = Object.keys(tables ?? {});
  const collection = names.find((name) => name.startsWith("collections."));
  const stream = names.find((name) => name.startsWith("streams."));
  const link = names.find((name) => name.startsWith("links."));
  const queries = [
    ...(collection === undefined
      ? []
      : [`SELECT * FROM ${collection} LIMIT 20`, `SELECT count(*) AS documents FROM ${collection}`]),
    ...(stream === undefined
      ? []
      : [
          `SELECT partition, count(*) AS records, max(timestamp) AS latest\nFROM ${stream}\nGROUP BY partition\nORDER BY partition`,
        ]),
    ...(link === undefined ? [] : [`SELECT counter, value FROM ${link} ORDER BY value DESC LIMIT 10`]),
  ];
  if (queries.length === 0) {
    return (
      <Card>
        <Empty
          title={`Nothing to ask in ${ns} yet`}
          action={
            <>
              <a class="button primary" href={href(["ns", ns, "collections"])}>
                Create a collection
              </a>
              <a class="button" href={href(["ns", ns, "streams"])}>
                Create a stream
              </a>
            </>
          }
        >
          Streams, collections and links of this namespace are the tables.
        </Empty>
      </Card>
    );
  }
  return (
    <Card title="Begin with">
      <div class="starters">
        {queries.map((query) => (
          <button type="button" key={query} class="starter" onClick={() => onPick(query)}>
            <code>{query}</code>
          </button>
        ))}
      </div>
    </Card>
  );
}
