import { keepRatios } from "../../scripts/figures.ts";

/** One measured ratio with the bound that an issue sets for it. */
export interface Row {
  readonly what: string;
  readonly ours: string;
  readonly peer: string;
  readonly ratio: number;
  /** `atLeast` for rates, `atMost` for times and sizes; none for a figure that is shown without a bound. */
  readonly bound: { readonly atLeast: number } | { readonly atMost: number } | undefined;
}

function judged({ ratio, bound }: Row): { readonly ratio: string; readonly bound: string; readonly verdict: string } {
  if (bound === undefined) return { ratio: "", bound: "", verdict: "" };
  const holds = "atLeast" in bound ? ratio >= bound.atLeast : ratio <= bound.atMost;
  return {
    ratio: ratio.toFixed(2),
    bound: "atLeast" in bound ? `≥ ${bound.atLeast}` : `≤ ${bound.atMost}`,
    verdict: holds ? "ok" : "MISSED",
  };
}

export function printTable(title: string, rows: readonly Row[]): void {
  console.log(`\n## ${title}\n`);
  console.log("| what | ours | peer or limit | ratio | bound | |");
  console.log("|---|---|---|---|---|---|");
  for (const row of rows) {
    const { ratio, bound, verdict } = judged(row);
    console.log(`| ${row.what} | ${row.ours} | ${row.peer} | ${ratio} | ${bound} | ${verdict} |`);
  }
  keepRatios(title, rows);
}
