/** One measured ratio with the bound that an issue sets for it. */
export interface Row {
  readonly what: string;
  readonly ours: string;
  readonly peer: string;
  readonly ratio: number;
  /** `atLeast` for rates, `atMost` for times and sizes. */
  readonly bound: { readonly atLeast: number } | { readonly atMost: number };
}

function holds({ ratio, bound }: Row): boolean {
  return "atLeast" in bound ? ratio >= bound.atLeast : ratio <= bound.atMost;
}

export function printTable(title: string, rows: readonly Row[]): void {
  console.log(`\n## ${title}\n`);
  console.log("| what | ours | peer or limit | ratio | bound | |");
  console.log("|---|---|---|---|---|---|");
  for (const row of rows) {
    const bound = "atLeast" in row.bound ? `≥ ${row.bound.atLeast}` : `≤ ${row.bound.atMost}`;
    console.log(
      `| ${row.what} | ${row.ours} | ${row.peer} | ${row.ratio.toFixed(2)} | ${bound} | ${holds(row) ? "ok" : "MISSED"} |`,
    );
  }
}
