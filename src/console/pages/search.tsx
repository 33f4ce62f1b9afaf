import { useEffect, useState } from "preact/hooks";
import { call, credential, nsPath } from "../lib/api.ts";
import { listCollections } from "../lib/pages.ts";
import { href, namespace, replaceParams, route } from "../lib/router.ts";
import {
  buildQuery,
  onlyRetriever,
  parseFilter,
  parseNumbers,
  type QueryBody,
  readState,
  type SearchState,
  stateParams,
  withoutFilter,
  withSchema,
} from "../lib/search-state.ts";
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
  const [given, setGiven] = useState<SearchState>(() => {
    const read = readState(route.peek().params);
    return { ...read, collection: read.collection === "" ? collections[0]!.name : read.collection };
  });
  const info = collections.find(({ name, aliases }) => name === given.collection || aliases.includes(given.collection));
  const state = info === undefined ? given : withSchema(given, info.schema);
  const [found, setFound] = useState<Found | undefined>();
  const [asked, setAsked] = useState<QueryBody | undefined>();
  const run = useAction(async () => {
    const vector = await vectorOf(ns, state);
    const body = buildQuery(state, vector);
    setAsked(body);
    replaceParams({ ...stateParams(state), run: 1 });
    setFound(await search(ns, state, body));
  });
  useEffect(() => {
    if (route.peek().params.has("run")) void run.run();
  }, []);
  const change = (part: Partial<SearchState>) => {
    const next = { ...state, ...part };
    setGiven(next);
    replaceParams({ ...stateParams(next), run: undefined });
  };
  return (
    <>
      <PageHead title="Search" note="Text and vectors side by side, fused, with the reasons." />
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
          {found === undefined ? (
            run.busy || run.problem !== undefined ? null : (
              <Card>
                <Empty title="Ask something">
                  Write words, choose a document to find others like it, or set a filter alone. Then press Search, or
                  Ctrl and Enter.
                </Empty>
              </Card>
            )
          ) : (
            <SearchResults
              ns={ns}
              found={found}
              state={state}
              onLike={(id) => change({ like: String(id), vector: "" })}
            />
          )}
          {asked === undefined ? null : <Code body={asked} />}
        </div>
      </div>
    </>
  );
}

async function vectorOf(ns: string, state: SearchState): Promise<readonly number[] | undefined> {
  if (state.vectorField === "") return undefined;
  if (state.vector.trim() !== "") return parseNumbers(state.vector);
  if (state.like.trim() === "") return undefined;
  const path = nsPath(ns, "collections", state.collection, "documents", state.like.trim());
  const document = await call<StoredDocument>(path);
  const vector = document.vectors[state.vectorField];
  if (vector === undefined) throw new Error(`Document ${state.like} has no vector ${state.vectorField}.`);
  return vector;
}

/** One request for all rankings, so that they show the same moment. */
async function search(ns: string, state: SearchState, body: QueryBody): Promise<Found> {
  const variants = {
    fused: { ...body, explain: true } as QueryBody,
    text: onlyRetriever(body, "text"),
    vector: onlyRetriever(body, "vector"),
    unfiltered: body.filter === undefined ? undefined : withoutFilter(body),
  };
  const asked = Object.entries(variants).filter((entry): entry is [string, QueryBody] => entry[1] !== undefined);
  const { results } = await call<{ results: QueryAnswer[] }>(nsPath(ns, "query"), {
    body: { queries: asked.map(([, query]) => query) },
  });
  const byName = new Map(asked.map(([name], i) => [name, results[i]!]));
  const counts = body.filter === undefined ? undefined : await countEffect(ns, state);
  return {
    body,
    fused: byName.get("fused")!,
    text: byName.get("text"),
    vector: byName.get("vector"),
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
