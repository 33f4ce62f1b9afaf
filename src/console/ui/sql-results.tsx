import { useMemo, useState } from "preact/hooks";
import * as format from "../lib/format.ts";
import type { SqlAnswer } from "../lib/types.ts";
import { Chart } from "./chart.tsx";
import { SelectField } from "./fields.tsx";
import { Card, CopyButton, Empty, TableFrame, Tabs } from "./parts.tsx";

export interface SqlResultsProps {
  readonly answer: SqlAnswer;
  readonly ms: number;
  readonly view: string;
  readonly onView: (view: string) => void;
}

/** A table in a page gets slow with more rows; they can be copied whole. */
const rowsShown = 1_000;
const pointsShown = 2_000;

export function SqlResults({ answer, ms, view, onView }: SqlResultsProps) {
  const rows = answer.rows;
  return (
    <Card
      title={`${format.counted(answer.row_count, "row")} in ${Math.round(ms)} ms`}
      flush
      actions={
        <>
          <CopyButton text={toCsv(answer)} label="CSV" />
          <CopyButton text={JSON.stringify(rows, null, 2)} label="JSON" />
        </>
      }
    >
      <div class="tab-bar">
        <Tabs
          label="Results as"
          active={view}
          onChange={onView}
          tabs={[
            ["table", "Table"],
            ["chart", "Chart"],
          ]}
        />
      </div>
      {rows.length === 0 ? (
        <Empty title="No rows">The query is well and finds nothing.</Empty>
      ) : view === "chart" ? (
        <ResultChart answer={answer} />
      ) : (
        <ResultTable answer={answer} />
      )}
    </Card>
  );
}

export function isNumeric(type: string): boolean {
  return /INT|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC|NUMBER/i.test(type) && !type.includes("[");
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function ResultTable({ answer }: { readonly answer: SqlAnswer }) {
  const { columns, rows } = answer;
  return (
    <>
      <TableFrame label="Results">
        <thead>
          <tr>
            {columns.map(({ name, type }) => (
              <th key={name} class={isNumeric(type) ? "number" : ""}>
                {name} <span class="type">{type.toLowerCase()}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, rowsShown).map((row, i) => (
            <tr key={i}>
              {columns.map(({ name, type }) => (
                <td key={name} class={`cell${isNumeric(type) ? " number" : ""}`} title={cellText(row[name])}>
                  {row[name] === null ? <span class="muted">null</span> : cellText(row[name]).slice(0, 400)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </TableFrame>
      {rows.length > rowsShown ? (
        <p class="muted pad">The first {format.count(rowsShown)} rows are shown; copy them all as CSV or JSON.</p>
      ) : null}
    </>
  );
}

/** Columns of numbers over another column: over a time as a line, over words as bars. */
function ResultChart({ answer }: { readonly answer: SqlAnswer }) {
  const { columns, rows } = answer;
  const numeric = columns.filter(({ type }) => isNumeric(type)).map(({ name }) => name);
  const [chosenX, setX] = useState("");
  const x = columns.some(({ name }) => name === chosenX)
    ? chosenX
    : (columns.find(({ name }) => !numeric.includes(name)) ?? columns[0])!.name;
  const drawn = useMemo(() => plotOf(answer, x, numeric.filter((name) => name !== x).slice(0, 4)), [answer, x]);
  if (numeric.length === 0) return <Empty title="Nothing to draw">A chart needs a column of numbers.</Empty>;
  return (
    <div class="pad stack">
      <div class="fields">
        <SelectField label="Over" value={x} onChange={setX} options={columns.map(({ name }) => [name, name])} />
      </div>
      <Chart
        key={`${x} ${drawn.kind}`}
        label={`${drawn.series.map(({ label }) => label).join(", ")} over ${x}`}
        x={drawn.x}
        series={drawn.series}
        format={format.short}
        height={320}
        time={drawn.time}
        live={false}
        kind={drawn.kind}
        {...(drawn.labels === undefined ? {} : { labels: drawn.labels })}
      />
      {rows.length > pointsShown ? <p class="muted">The first {format.count(pointsShown)} rows are drawn.</p> : null}
    </div>
  );
}

function plotOf(answer: SqlAnswer, x: string, names: readonly string[]) {
  const rows = answer.rows.slice(0, pointsShown);
  const type = answer.columns.find(({ name }) => name === x)?.type ?? "";
  const isTime = /TIME|DATE/i.test(type);
  const isNumber = isNumeric(type);
  const at = rows.map((row, i) => (isTime ? Date.parse(String(row[x])) / 1000 : isNumber ? Number(row[x]) : i));
  const order = at.map((_, i) => i).sort((a, b) => at[a]! - at[b]!);
  const colours = [1, 2, 3, 4] as const;
  return {
    x: order.map((i) => at[i]!),
    series: names.map((name, c) => ({
      label: name,
      colour: colours[c]!,
      values: order.map((i) => toNumber(rows[i]![name])),
    })),
    time: isTime,
    kind: isTime || isNumber ? ("line" as const) : ("bars" as const),
    labels: isTime || isNumber ? undefined : rows.map((row) => cellText(row[x])),
  };
}

function toNumber(value: unknown): number | null {
  const number = value === null || value === undefined ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : null;
}

function toCsv({ columns, rows }: SqlAnswer): string {
  const cell = (value: unknown) => {
    const text = cellText(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const lines = rows.map((row) => columns.map(({ name }) => cell(row[name])).join(","));
  return [columns.map(({ name }) => cell(name)).join(","), ...lines].join("\n");
}
