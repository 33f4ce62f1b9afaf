import { useState } from "preact/hooks";
import * as format from "../lib/format.ts";
import { href } from "../lib/router.ts";
import type { QueryBody, RetrieverKind, SearchState } from "../lib/search-state.ts";
import type { FacetCount, QueryAnswer, QueryGroup, QueryRow } from "../lib/types.ts";
import { Button, Card } from "../ui/parts.tsx";
import { Facets } from "./search-facets.tsx";
import { Why } from "./search-why.tsx";

export interface Found {
  readonly body: QueryBody;
  readonly fused: QueryAnswer;
  /** The ranking of each retriever alone. */
  readonly alone: Readonly<Partial<Record<RetrieverKind, QueryAnswer>>>;
  readonly unfiltered: QueryAnswer | undefined;
  readonly counts: { readonly matching: number; readonly total: number } | undefined;
}

export interface SearchResultsProps {
  readonly ns: string;
  readonly found: Found;
  readonly state: SearchState;
  readonly onLike: (id: number) => void;
  readonly onNarrow: (field: string, value: FacetCount["value"]) => void;
}

const noRows: readonly QueryRow[] = [];

const titles: Readonly<Record<RetrieverKind, string>> = { text: "Text", vector: "Vector", sparse: "Sparse" };

export function SearchResults({ ns, found, state, onLike, onNarrow }: SearchResultsProps) {
  const [same, setSame] = useState<number | undefined>();
  const { fused, alone, body } = found;
  const columns = (["text", "vector", "sparse"] as const).flatMap((kind) => {
    const answer = alone[kind];
    return answer === undefined ? [] : [{ title: titles[kind], rows: answer.rows ?? noRows }];
  });
  const isHybrid = columns.length > 1;
  const shared = { ns, state, same, onSame: setSame, onLike };
  const [sort] = body.sort ?? [];
  const heading = isHybrid ? "Fused" : (columns[0]?.title ?? "Matches");
  const title = sort === undefined ? heading : `${heading}, by ${sort.field}`;
  return (
    <>
      <Summary found={found} />
      {fused.facets === undefined ? null : <Facets facets={fused.facets} onNarrow={onNarrow} />}
      {fused.groups === undefined ? null : <Groups groups={fused.groups} body={body} shared={shared} />}
      {fused.groups !== undefined && !isHybrid ? null : (
        <div class={`rankings ${isHybrid ? "" : "one"}`}>
          {isHybrid ? columns.map((column) => <Ranking key={column.title} {...column} {...shared} />) : null}
          {fused.rows === undefined ? null : <Ranking title={title} rows={fused.rows} body={body} {...shared} />}
        </div>
      )}
      <FilterEffect found={found} state={state} />
    </>
  );
}

/** The best of each value, the groups in the order of their best. */
function Groups({
  groups,
  body,
  shared,
}: {
  readonly groups: readonly QueryGroup[];
  readonly body: QueryBody;
  readonly shared: Omit<RankingProps, "title" | "rows" | "body">;
}) {
  if (groups.length === 0) {
    return (
      <Card>
        <p class="muted">Nothing was found that has a value in {body.group_by?.field}.</p>
      </Card>
    );
  }
  return (
    <div class="rankings">
      {groups.map(({ key, rows }) => (
        <Ranking key={String(key)} title={String(key)} rows={rows} body={body} {...shared} />
      ))}
    </div>
  );
}

function rowsOf({ rows, groups }: QueryAnswer): readonly QueryRow[] {
  return rows ?? groups?.flatMap((group) => group.rows) ?? noRows;
}

function Summary({ found }: { readonly found: Found }) {
  const { fused } = found;
  const { stats, groups } = fused;
  const count = rowsOf(fused).length;
  return (
    <p class="muted summary" role="status">
      <b>{format.count(count)}</b> {count === 1 ? "result" : "results"}
      {groups === undefined ? "" : ` in ${format.counted(groups.length, "group")}`} in {fused.took_ms.toFixed(1)} ms
      {stats === undefined ? null : (
        <span>
          , from {format.counted(stats.candidates, "candidate")} in {format.counted(stats.segments, "segment")} and a
          tail of {format.count(stats.tail_documents)}
        </span>
      )}
    </p>
  );
}

interface RankingProps {
  readonly ns: string;
  readonly title: string;
  readonly rows: readonly QueryRow[];
  readonly state: SearchState;
  readonly same: number | undefined;
  readonly onSame: (id: number | undefined) => void;
  readonly onLike: (id: number) => void;
  /** Of the ranking that is explained. */
  readonly body?: QueryBody;
}

function Ranking({ ns, title, rows, state, same, onSame, onLike, body }: RankingProps) {
  return (
    <section class="ranking" aria-label={`${title} ranking`}>
      <header>
        <h2>{title}</h2>
        <span class="muted">{format.count(rows.length)}</span>
      </header>
      {rows.length === 0 ? <p class="muted pad">Nothing was found.</p> : null}
      <ol>
        {rows.map((row, i) => (
          // What is found in several rankings is marked in all of them.
          <li
            key={row._id}
            onMouseEnter={() => onSame(row._id)}
            onMouseLeave={() => onSame(undefined)}
            onFocusCapture={() => onSame(row._id)}
          >
            <Hit
              ns={ns}
              row={row}
              rank={i + 1}
              state={state}
              isSame={same === row._id}
              onLike={onLike}
              {...(body === undefined ? {} : { body })}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

interface HitProps {
  readonly ns: string;
  readonly row: QueryRow;
  readonly rank: number;
  readonly state: SearchState;
  readonly isSame: boolean;
  readonly onLike: (id: number) => void;
  readonly body?: QueryBody;
}

/** The field that names a document best. */
export function titleOf(row: QueryRow, state: SearchState): string {
  const named = ["title", "name", state.textField]
    .map((field) => row[field])
    .find((value) => typeof value === "string");
  const any =
    named ?? Object.entries(row).find(([field, value]) => !field.startsWith("_") && typeof value === "string")?.[1];
  return any === undefined ? `Document ${row._id}` : String(any);
}

function Hit({ ns, row, rank, state, isSame, onLike, body }: HitProps) {
  return (
    <article class={`hit${isSame ? " same" : ""}`}>
      <div class="hit-head">
        <span class="hit-rank">{rank}</span>
        <a
          class="hit-title"
          href={href(["ns", ns, "collections", state.collection], { filter: `{"ids":{"values":[${row._id}]}}` })}
        >
          {titleOf(row, state)}
        </a>
        <span class="hit-score" title={String(row._score)}>
          {format.score(row._score)}
        </span>
      </div>
      <Highlights row={row} />
      {body === undefined ? null : <Why row={row} body={body} />}
      {body === undefined || state.vectorField === "" ? null : (
        <div class="actions">
          <span class="muted small-text">id {row._id}</span>
          <Button small kind="quiet" onClick={() => onLike(row._id)}>
            More like this
          </Button>
        </div>
      )}
    </article>
  );
}

/** Fragments come with `<em>` around what matched and are otherwise plain text. */
function Highlights({ row }: { readonly row: QueryRow }) {
  const fragments = Object.entries(row._highlights ?? {}).flatMap(([field, found]) =>
    found.map((text) => [field, text] as const),
  );
  return (
    <>
      {fragments.slice(0, 4).map(([field, text]) => (
        <p key={`${field} ${text}`} class="hit-text">
          {text.split(/<em>(.*?)<\/em>/s).map((part, i) => (i % 2 === 1 ? <mark key={i}>{part}</mark> : part))}
        </p>
      ))}
    </>
  );
}

/** What the filter took away, and what came up in its place. */
function FilterEffect({ found, state }: { readonly found: Found; readonly state: SearchState }) {
  const { unfiltered, counts, fused } = found;
  if (unfiltered === undefined || counts === undefined) return null;
  const rows = rowsOf(fused);
  const now = new Set(rows.map(({ _id }) => _id));
  const before = unfiltered.rows ?? noRows;
  const removed = before.map((row, i) => ({ row, rank: i + 1 })).filter(({ row }) => !now.has(row._id));
  const was = new Set(before.map(({ _id }) => _id));
  const risen = rows.filter(({ _id }) => !was.has(_id)).length;
  const share = counts.total === 0 ? 0 : (100 * counts.matching) / counts.total;
  return (
    <Card title="What the filter does">
      <div class="share">
        <span class="why-bar">
          <i class="vector" style={{ width: `${share}%` }} />
        </span>
        <span>
          keeps <b>{format.count(counts.matching)}</b> of {format.count(counts.total)} documents (
          {share.toFixed(share < 10 ? 1 : 0)}%)
        </span>
      </div>
      {removed.length === 0 ? (
        <p class="muted">Without the filter, the top results would be the same.</p>
      ) : (
        <>
          <p class="muted">
            Without it, {removed.length} of the first {before.length} would be others; {risen} came up in their place:
          </p>
          <ul class="removed">
            {removed.map(({ row, rank }) => (
              <li key={row._id}>
                <span class="hit-rank">{rank}</span> <span class="grow">{titleOf(row, state)}</span>
                <span class="hit-score">{format.score(row._score)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}
