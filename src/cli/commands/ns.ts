import { ServiceError } from "../../client/index.ts";
import { UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import { formatBytes } from "../output.ts";
import type { Run } from "../spec.ts";

export const listNamespaces: Run = async ({ client, out, signal }) => {
  await out.list("namespaces", await client.namespaces({ signal }), { NAME: ({ name }) => name, ID: ({ id }) => id });
  return undefined;
};

export const createNamespace: Run = async (context) => {
  const name = context.arg(0);
  const { id } = await orExisting(context, () => context.client.createNamespace(name, context));
  await context.out.value({ id, name }, () => `namespace ${name} has the id ${id}`);
  return undefined;
};

export const getNamespace: Run = async (context) => {
  const found = await context.client.namespace(context.arg(0)).get(context);
  await context.out.fields(found, { name: found.name, id: found.id });
  return undefined;
};

export const namespaceQuota: Run = async (context) => {
  const namespace = context.client.namespace(context.arg(0));
  const bytes = context.whole("max-bytes", 1);
  const requests = context.whole("max-requests-per-second", 1);
  const isPresent = bytes !== undefined || requests !== undefined;
  if (isPresent && context.flag("none")) throw new UsageError("--none removes all limits: use it on its own");
  const quota = {
    ...(bytes === undefined ? {} : { max_bytes: bytes }),
    ...(requests === undefined ? {} : { max_requests_per_second: requests }),
  };
  const found =
    isPresent || context.flag("none") ? await namespace.setQuota(quota, context) : await namespace.quota(context);
  await context.out.fields(found, {
    used: formatBytes(found.used_bytes),
    "at most": found.max_bytes == null ? "no bound" : formatBytes(found.max_bytes),
    "requests a second": found.max_requests_per_second ?? "no bound",
  });
  return undefined;
};

export const deleteNamespace: Run = async (context) => {
  await context.client.namespace(context.arg(0)).delete(context);
  await context.out.value({ dropped: true }, () => `namespace ${context.arg(0)} is deleted`);
  return undefined;
};

/** With --if-missing a name that is taken is what was asked for. */
export async function orExisting(context: Context, create: () => Promise<{ readonly id: number }>) {
  try {
    return await create();
  } catch (error) {
    const exists = error instanceof ServiceError && error.reason === "already_exists";
    if (!exists || !context.flag("if-missing")) throw error;
    return { id: Number(error.details["id"]) };
  }
}
