import type { Query, QueryReply, QueryRow, Retriever } from "../../client/index.ts";
import { UsageError } from "../command.ts";
import { type Context, parseJson, textOrFile } from "../context.ts";
import { cell, formatTable } from "../output.ts";
import type { Run } from "../spec.ts";

export const query: Run = async (context) => {
  const body = queryOf(context);
  const reply = await context.namespace.query(body, { signal: context.signal });
  await context.out.value(reply, () => replyText(reply, context.out.width));
  return undefined;
};

function queryOf(context: Context): Query {
  const collection = context.args[0];
  const body = context.jsonOption("body") as Query | undefined;
  if (body === undefined && collection === undefined) throw new UsageError("COLLECTION or --body is missing");
  const k = context.whole("k", 1);
  const limit = context.whole("limit", 1);
  const common = k === undefined ? {} : { k };
  const retrieve: Retriever[] = [
    ...context.all("text").map((each) => {
      const [field, words] = fieldAnd("--text", each);
      return { text: { field, query: words, ...common } };
    }),
    ...context.all("vector").map((each) => {
      const [field, vector] = fieldAnd("--vector", each);
      return { vector: { field, query: parseJson("--vector", textOrFile(vector)) as number[], ...common } };
    }),
  ];
  const filter = context.jsonOption("filter") as Query["filter"];
  const select = names(context.text("select"));
  const highlight = names(context.text("highlight"));
  return {
    ...(collection === undefined ? {} : { from: collection }),
    ...(retrieve.length === 0 ? {} : { retrieve }),
    ...(filter === undefined ? {} : { filter }),
    ...(limit === undefined ? {} : { limit }),
    ...(select === undefined ? {} : { select }),
    ...(highlight === undefined ? {} : { highlight: { fields: highlight } }),
    ...(context.flag("explain") ? { explain: true } : {}),
    ...body,
  } as Query;
}

function fieldAnd(option: string, text: string): [string, string] {
  const at = text.indexOf(":");
  if (at < 1) throw new UsageError(`${option} ${text} must be FIELD:WHAT, for example title:apple`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function names(text: string | undefined): readonly string[] | undefined {
  return text?.split(",").map((each) => each.trim());
}

function replyText(reply: QueryReply, width: number): string {
  const groups = reply.groups?.map(({ key, rows }) => `${cell(key)}\n${rowsText(rows, width)}`);
  const parts = groups ?? [rowsText(reply.rows ?? [], width)];
  for (const [field, counts] of Object.entries(reply.facets ?? {})) {
    parts.push(
      formatTable(
        [field, "COUNT"],
        counts.map(({ value, count }) => [cell(value), String(count)]),
      ),
    );
  }
  return `${parts.join("\n\n")}\n\n${reply.rows?.length ?? reply.groups?.length ?? 0} in ${reply.took_ms.toFixed(1)} ms`;
}

function rowsText(rows: readonly QueryRow[], width: number): string {
  if (rows.length === 0) return "nothing was found";
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const shown = (row: QueryRow, column: string) =>
    column === "_score" ? row._score.toPrecision(5) : cell(row[column]);
  return formatTable(
    columns,
    rows.map((row) => columns.map((column) => shown(row, column))),
    Math.max(20, Math.min(60, Math.floor(width / Math.max(1, columns.length - 1)))),
  );
}
