import { UsageError } from "../command.ts";
import type { Run } from "../spec.ts";

export const listLinks: Run = async ({ namespace, out, signal }) => {
  await out.list("links", await namespace.links({ signal }), {
    NAME: ({ name }) => name,
    SOURCE: ({ source }) => source,
    TARGET: ({ target }) => `${target.kind}:${target.name}`,
    STATUS: ({ status }) => status,
  });
  return undefined;
};

export const createLink: Run = async (context) => {
  const name = context.arg(0);
  const [kind, target] = (context.text("target") ?? "").split(/:(.*)/s);
  const options = context.jsonOption("options");
  if (options !== undefined && (typeof options !== "object" || options === null)) {
    throw new UsageError("--options must be a JSON object");
  }
  const { id } = await context.namespace.createLink(
    {
      name,
      source: context.required("source"),
      ...(kind === undefined || kind === ""
        ? {}
        : { target: { kind, ...(target === undefined ? {} : { name: target }) } }),
      ...(options === undefined ? {} : { options: options as Record<string, unknown> }),
    },
    context,
  );
  await context.out.value({ id, name }, () => `link ${name} has the id ${id}`);
  return undefined;
};

export const getLink: Run = async (context) => {
  const { out } = context;
  const link = await context.namespace.link(context.arg(0), context);
  const lag = link.lag.reduce((sum, { records }) => sum + records, 0);
  await out.fields(link, {
    name: link.name,
    id: link.id,
    source: link.source,
    target: `${link.target.kind}:${link.target.name}`,
    status: link.status,
    lag: `${lag} records`,
    ...(link.skipped === undefined ? {} : { skipped: link.skipped }),
    ...(link.error === undefined ? {} : { error: link.error }),
  });
  const counters = Object.entries(link.counters ?? {});
  if (!out.json && counters.length > 0) {
    out.say("");
    await out.list("counters", counters, { COUNTER: ([name]) => name, VALUE: ([, value]) => value });
  }
  return undefined;
};

export const deleteLink: Run = async (context) => {
  await context.namespace.deleteLink(context.arg(0), context);
  await context.out.value({ dropped: true }, () => `link ${context.arg(0)} is deleted`);
  return undefined;
};
