import * as format from "../lib/format.ts";
import type { QueryBody } from "../lib/search-state.ts";
import type { QueryRow, RetrieverExplain } from "../lib/types.ts";
import { Badge } from "../ui/parts.tsx";

/** What each retriever adds to the score: its rank, its score and the words that matched. */
export function Why({ row, body }: { readonly row: QueryRow; readonly body: QueryBody }) {
  const retrievers = row._explain?.retrievers ?? [];
  if (retrievers.length === 0) return null;
  const parts = retrievers.map((each, i) => contribution(each, i, body));
  const most = Math.max(...parts, Number.MIN_VALUE);
  return (
    <div class="why">
      {retrievers.map((each, i) => (
        <div key={i}>
          <div class="why-row">
            <span>{each.kind}</span>
            <span class="why-bar">
              <i class={each.kind} style={{ width: `${(100 * parts[i]!) / most}%` }} />
            </span>
            <span>{each.rank === null ? "not found" : `#${each.rank} · ${format.score(each.score ?? 0)}`}</span>
          </div>
          {each.terms === undefined || each.terms.length === 0 ? null : (
            <div class="terms">
              {each.terms.map((term) => (
                <Badge key={term}>{term}</Badge>
              ))}
            </div>
          )}
        </div>
      ))}
      {retrievers.length > 1 && body.fuse?.method === "rrf" ? <Formula retrievers={retrievers} body={body} /> : null}
    </div>
  );
}

function weightOf(i: number, body: QueryBody): number {
  return Object.values(body.retrieve?.[i] ?? {})[0]?.weight ?? 1;
}

function contribution({ rank, score }: RetrieverExplain, i: number, body: QueryBody): number {
  if (rank === null) return 0;
  if (body.fuse?.method === "rrf") return weightOf(i, body) / ((body.fuse.k ?? 60) + rank);
  return Math.max(0, score ?? 0) * weightOf(i, body);
}

function Formula({ retrievers, body }: { readonly retrievers: readonly RetrieverExplain[]; readonly body: QueryBody }) {
  const k = body.fuse?.k ?? 60;
  const terms = retrievers.flatMap(({ rank }, i) =>
    rank === null ? [] : [`${format.score(weightOf(i, body))}/(${k}+${rank})`],
  );
  return <span class="mono">= {terms.join(" + ")}</span>;
}
