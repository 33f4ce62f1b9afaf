import type { Retention } from "../../client/index.ts";
import type { Context } from "../context.ts";
import { parseAge } from "../duration.ts";
import { formatBytes, formatDuration } from "../output.ts";
import type { Run } from "../spec.ts";
import { orExisting } from "./ns.ts";

function retentionText(retention: Retention | undefined): string {
  const { max_age_ms, max_bytes } = retention ?? {};
  const parts = [
    ...(max_age_ms == null ? [] : [formatDuration(max_age_ms)]),
    ...(max_bytes == null ? [] : [formatBytes(max_bytes)]),
  ];
  return parts.length === 0 ? "forever" : parts.join(", ");
}

function retentionOf(context: Context): Retention | undefined {
  const age = context.text("max-age");
  const bytes = context.whole("max-bytes", 1);
  if (age === undefined && bytes === undefined) return undefined;
  return {
    ...(age === undefined ? {} : { max_age_ms: parseAge("--max-age", age) }),
    ...(bytes === undefined ? {} : { max_bytes: bytes }),
  };
}

export const listStreams: Run = async ({ namespace, out, signal }) => {
  await out.list("streams", await namespace.streams({ signal }), {
    NAME: ({ name }) => name,
    PARTITIONS: ({ partitions }) => partitions,
    KEPT: ({ retention }) => retentionText(retention),
  });
  return undefined;
};

export const createStream: Run = async (context) => {
  const name = context.arg(0);
  const partitions = context.whole("partitions", 1);
  const retention = retentionOf(context);
  const stream = {
    name,
    ...(partitions === undefined ? {} : { partitions }),
    ...(retention === undefined ? {} : { retention }),
  };
  const { id } = await orExisting(context, () => context.namespace.createStream(stream, context));
  await context.out.value({ id, name }, () => `stream ${name} has the id ${id}`);
  return undefined;
};

export const getStream: Run = async (context) => {
  const { out } = context;
  const detail = await context.namespace.stream(context.arg(0)).get(context);
  if (!out.json) out.say(`stream ${context.arg(0)}, id ${detail.id}, kept ${retentionText(detail.retention)}`);
  if (out.json) await out.line(JSON.stringify(detail));
  else {
    await out.list("partitions", detail.partitions, {
      PARTITION: ({ partition }) => partition,
      START: ({ log_start_offset }) => log_start_offset,
      END: ({ high_watermark }) => high_watermark,
      RECORDS: ({ log_start_offset, high_watermark }) => high_watermark - log_start_offset,
    });
  }
  return undefined;
};

export const deleteStream: Run = async (context) => {
  await context.namespace.stream(context.arg(0)).delete(context);
  await context.out.value({ dropped: true }, () => `stream ${context.arg(0)} is deleted`);
  return undefined;
};

export const setRetention: Run = async (context) => {
  const retention = retentionOf(context) ?? null;
  const detail = await context.namespace.stream(context.arg(0)).setRetention(retention, context);
  await context.out.value(detail, () => `stream ${context.arg(0)} is kept ${retentionText(detail.retention)}`);
  return undefined;
};
