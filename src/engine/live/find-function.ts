import { invalid, notFound } from "../errors.ts";
import { builtIns, createTable, createTableArgs, setEvents, setEventsArgs } from "./builtins.ts";
import type { DeployedFunction } from "./live-meta.ts";
import type { LiveNamespace } from "./live-namespace.ts";
import type { LiveCall } from "./run.ts";
import { validateFields } from "./validator.ts";

type Found = Pick<DeployedFunction, "name" | "kind" | "args">;

/** The function of a call, which takes its arguments. */
export function functionOf(
  namespace: LiveNamespace,
  { function: name, args }: Pick<LiveCall, "function" | "args">,
  kind: "query" | "mutation",
): Found {
  const found = find(namespace, name);
  if (found === undefined) throw notFound(`function ${JSON.stringify(name.slice(0, 200))} does not exist`);
  if (found.kind !== kind) {
    throw invalid("call.function", `${name} is a ${found.kind}: ${kind === "query" ? "Mutate" : "Query"} runs it`);
  }
  if (found.args !== undefined) {
    validateFields("args", found.args, args, (table) => namespace.tables.get(table)?.number);
  }
  return found;
}

function find(namespace: LiveNamespace, name: string): Found | undefined {
  if (name === createTable) return { name, kind: "mutation", args: createTableArgs };
  if (name === setEvents) return { name, kind: "mutation", args: setEventsArgs };
  const builtIn = builtIns.get(name);
  return builtIn === undefined ? namespace.functions.get(withoutEnding(name)) : { name, ...builtIn };
}

/** A module may be given with the ending of its file. */
export function withoutEnding(name: string): string {
  return name.replace(/\.[cm]?js:/, ":");
}
