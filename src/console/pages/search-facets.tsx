import * as format from "../lib/format.ts";
import type { FacetCount, QueryAnswer } from "../lib/types.ts";
import { Card } from "../ui/parts.tsx";

/** How many of what was found have each value; one is pressed to see those alone. */
export function Facets({
  facets,
  onNarrow,
}: {
  readonly facets: NonNullable<QueryAnswer["facets"]>;
  readonly onNarrow: (field: string, value: FacetCount["value"]) => void;
}) {
  return (
    <Card title="Facets">
      <div class="facets">
        {Object.entries(facets).map(([field, counts]) => {
          const most = Math.max(...counts.map(({ count }) => count), 1);
          return (
            <section key={field} aria-label={`Facet ${field}`}>
              <h3 class="mono">{field}</h3>
              {counts.length === 0 ? <p class="muted">No values.</p> : null}
              <ul>
                {counts.map(({ value, count }) => (
                  <li key={String(value)}>
                    <button type="button" title={`Only ${field} ${value}`} onClick={() => onNarrow(field, value)}>
                      <span class="facet-value">{String(value)}</span>
                      <span class="why-bar" aria-hidden="true">
                        <i class="vector" style={{ width: `${(100 * count) / most}%` }} />
                      </span>
                      <span class="muted">{format.count(count)}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </div>
    </Card>
  );
}
