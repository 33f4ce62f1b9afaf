import type { Filter } from "../../client/index.ts";
import { CommandFailure, UsageError } from "../command.ts";
import { parseWhole } from "../context.ts";
import type { Run } from "../spec.ts";

export const getDocument: Run = async (context) => {
  const id = parseWhole("ID", context.arg(1));
  const found = await context.namespace.collection(context.arg(0)).get(id, { signal: context.signal });
  if (found === undefined) throw new CommandFailure("not_found", `there is no document with the id ${id}`);
  await context.out.value(found, () => JSON.stringify(found, undefined, 2));
  return undefined;
};

export const countDocuments: Run = async (context) => {
  const filter = context.jsonOption("filter") as Filter | undefined;
  const count = await context.namespace.collection(context.arg(0)).count(filter, { signal: context.signal });
  await context.out.value({ count }, () => String(count));
  return undefined;
};

export const deleteDocuments: Run = async (context) => {
  const [name, ...ids] = context.args;
  const filter = context.jsonOption("filter") as Filter | undefined;
  if ((filter === undefined) === (ids.length === 0)) throw new UsageError("give either ids or --filter");
  const collection = context.namespace.collection(name!);
  const { signal } = context;
  let deleted: number;
  if (filter === undefined) {
    const reply = await collection.write(
      ids.map((id) => ({ delete: { id: parseWhole("ID", id) } })),
      { signal },
    );
    deleted = reply.results.filter(({ status }) => status === "deleted").length;
  } else deleted = await collection.deleteByFilter(filter, { signal });
  await context.out.value({ deleted }, () => `${deleted} documents are deleted`);
  return undefined;
};
