import { useEffect, useState } from "preact/hooks";
import { call, credential, nsPath } from "../lib/api.ts";
import { listCollections } from "../lib/pages.ts";
import { href, replaceParams, route } from "../lib/router.ts";
import {
  buildQuery,
  narrowed,
  onlyRetriever,
  parseFilter,
  parseNumbers,
  parseSparse,
  type QueryBody,
  readState,
  type SearchState,
  stateParams,
  type Vectors,
  withoutFilter,
  withSchema,
} from "../lib/search-state.ts";
import { namespace } from "../lib/session.ts";
import { snippetsOf } from "../lib/snippets.ts";
import type { CollectionInfo, QueryAnswer, StoredDocument } from "../lib/types.ts";
import { useAction, useLoad } from "../lib/use-load.ts";
import { Card, CodeBlock, Empty, Loading, PageHead, ProblemNotice, Tabs } from "../ui/parts.tsx";
import { SearchForm } from "./search-form.tsx";
import { type Found, SearchResults } from "./search-results.tsx";

/** Builds a hybrid query, shows its rankings side by side and tells why. */
export function SearchPage({ ns }: { readonly ns: string }) {
  const collections = useLoad((signal) => listCollections(ns, signal), [ns]);
  if (collections.data === undefined) {
    return (
      <>
        <PageHead title="Search" />
        {collections.problem === undefined ? (
          <Loading />
        ) : (
          <ProblemNotice problem={collections.problem} retry={collections.reload} />
        )}
      </>
    );
  }
  if (collections.data.length === 0) {
    return (
      <>
        <PageHead title="Search" />
        <Card>
          <Empty
            title={`No collections in ${ns}`}
            action={
              <a class="button primary" href={href(["ns", ns, "collections"])}>
                Go to the collections
              </a>
            }
          >
            Create a collection and write documents to it; then search them here.
          </Empty>
        </Card>
      </>
    );
  }
  return <Workbench ns={ns} collections={collections.data} />;
}

function Workbench({ ns, collections }: { readonly ns: string; readonly collections: readonly CollectionInfo[] }) {
  const [input, setInput] = useState<SearchState>(() => {
    const read = readState(route.peek().params);
    return { ...read, collection: read.collection === "" ? collections[0]!.name : read.collection };
  });
  const info = collections.find(({ name, aliases }) => name === input.collection || aliases.includes(input.collection));
  const state = info === undefined ? input : withSchema(input, info.schema);
  const [found, setFound] = useState<Found | undefined>();
  const [asked, setAsked] = useState<QueryBody | undefined>();
  const [again, setAgain] = useState(0);
  const run = useAction(async () => {
    const body = buildQuery(state, await vectorsOf(ns, state));
    setAsked(body);
    replaceParams({ ...stateParams(state), run: 1 });
    setFound(await search(ns, state, body));
  });
  useEffect(() => {
    if (route.peek().params.has("run")) void run.run();
  }, []);
  const change = (part: Partial<SearchState>) => {
    const next = { ...state, ...part };
    setInput(next);
    replaceParams({ ...stateParams(next), run: undefined });
  };
  // Depends on this alone: the state that was changed with it is there by now
  useEffect(() => {
    if (again > 0) void run.run();
  }, [again]);
  const changeAndRun = (part: Partial<SearchState>) => {
    change(part);
    setAgain(again + 1);
  };
  return (
    <>
      <PageHead
        title="Search"
        note="Rankings by text and by vector side by side, and the fused one with its reasons."
      />
      <div class="workbench">
        <Card>
          <SearchForm
            state={state}
            collections={collections}
            info={info}
            change={change}
            run={() => void run.run()}
            busy={run.busy}
          />
        </Card>
        <div class="stack">
          <ProblemNotice problem={run.problem} />
          {run.busy && found === undefined ? <Loading label="Searching" /> : null}
          {!run.busy && found === undefined && run.problem === undefined ? <NotAskedYet /> : null}
          {found === undefined ? null : (
            <SearchResults
              ns={ns}
              found={found}
              state={state}
              onLike={(id) => changeAndRun({ like: String(id), vector: "" })}
              onNarrow={(field, value) => changeAndRun({ filter: narrowed(state.filter, field, value) })}
            />
          )}
          {asked === undefined ? null : <Code body={asked} />}
        </div>
      </div>
    </>
  );
}

function NotAskedYet() {
  return (
    <Card>
      <Empty title="Ask something">
        Write words, choose a document to find others like it, or set a filter alone. Then press Search, or Ctrl and
        Enter.
      </Empty>
    </Card>
  );
}

/** What is written out, or what the named documents have. */
async function vectorsOf(ns: string, state: SearchState): Promise<Vectors> {
  const of = async <T,>(id: string, field: string, pick: (document: StoredDocument) => T | undefined): Promise<T> => {
    const path = nsPath(ns, "collections", state.collection, "documents", id.trim());
    const found = pick(await call<StoredDocument>(path));
    if (found === undefined) throw new Error(`Document ${id} has no vector ${field}.`);
    return found;
  };
  const { vectorField, sparseField } = state;
  const dense = async () => {
    if (vectorField === "") return undefined;
    if (state.vector.trim() !== "") return parseNumbers(state.vector);
    if (state.like.trim() === "") return undefined;
    return await of(state.like, vectorField, ({ vectors }) => vectors[vectorField]);
  };
  const sparse = async () => {
    if (sparseField === "") return undefined;
    if (state.sparse.trim() !== "") return parseSparse(state.sparse);
    if (state.sparseLike.trim() === "") return undefined;
    return await of(state.sparseLike, sparseField, (document) => document.sparse_vectors?.[sparseField]);
  };
  return { dense: await dense(), sparse: await sparse() };
}

/** One request for all rankings, so that they show the same moment. */
async function search(ns: string, state: SearchState, body: QueryBody): Promise<Found> {
  const variants = {
    fused: { ...body, explain: true } as QueryBody,
    text: onlyRetriever(body, "text"),
    vector: onlyRetriever(body, "vector"),
    sparse: onlyRetriever(body, "sparse"),
    unfiltered: body.filter === undefined ? undefined : withoutFilter(body),
  };
  const asked = Object.entries(variants).filter((entry): entry is [string, QueryBody] => entry[1] !== undefined);
  const { results } = await call<{ results: QueryAnswer[] }>(nsPath(ns, "query"), {
    body: { queries: asked.map(([, query]) => query) },
  });
  const byName = new Map(asked.map(([name], i) => [name, results[i]!]));
  const alone = Object.fromEntries(
    (["text", "vector", "sparse"] as const).flatMap((kind) => (byName.has(kind) ? [[kind, byName.get(kind)!]] : [])),
  );
  const counts = body.filter === undefined ? undefined : await countEffect(ns, state);
  return {
    body,
    fused: byName.get("fused")!,
    alone,
    unfiltered: byName.get("unfiltered"),
    counts,
  };
}

async function countEffect(ns: string, state: SearchState): Promise<{ matching: number; total: number }> {
  const path = nsPath(ns, "collections", state.collection, "documents", "count");
  const [matching, total] = await Promise.all(
    [{ filter: parseFilter(state.filter) }, {}].map(
      async (body) => (await call<{ count: number }>(path, { body })).count,
    ),
  );
  return { matching: matching!, total: total! };
}

const languages = [
  ["curl", "curl"],
  ["typescript", "TypeScript"],
  ["python", "Python"],
  ["sql", "SQL"],
] as const;

function Code({ body }: { readonly body: QueryBody }) {
  const [language, setLanguage] = useState<(typeof languages)[number][0]>("curl");
  const snippets = snippetsOf(body, {
    origin: location.origin,
    namespace: namespace.value,
    signedIn: credential.value !== undefined,
  });
  return (
    <Card title="The same query as code">
      <div class="snippets">
        <Tabs
          label="Language"
          tabs={languages}
          active={language}
          onChange={(id) => setLanguage(id as typeof language)}
        />
        <CodeBlock text={snippets[language]} label={`The query in ${language}`} />
        {language === "sql" ? (
          <p class="small-text">
            <a href={href(["ns", namespace.value, "sql"], { query: snippets.sql })}>Open in the SQL workbench</a>
          </p>
        ) : null}
      </div>
    </Card>
  );
}
