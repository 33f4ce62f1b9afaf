import { formatPageToken, parsePageToken } from "../../../engine/collection/cursor.ts";
import type { Engine } from "../../../engine/engine.ts";
import { limits } from "../../../engine/limits.ts";
import type { Retention } from "../../../engine/log/log.ts";
import type { StreamMeta } from "../../../engine/metastore/metastore.ts";
import { clientSignal, type Route, readToken } from "../route.ts";
import {
  answer,
  array,
  consistency,
  count,
  name,
  namespacePath,
  object,
  optional,
  positive,
  retention,
  streamPath,
  text,
  tokenHeader,
} from "../schemas.ts";

interface RetentionJson {
  readonly max_age_ms?: number | null;
  readonly max_bytes?: number | null;
}

interface StreamParams {
  readonly ns: string;
  readonly stream: string;
}

const partitionInfo = { partition: count, log_start_offset: count, high_watermark: count };
const detailAnswer = answer("The stream", {
  id: positive,
  partitions: array({ type: "object", properties: partitionInfo }),
  retention,
});

/** A retention that names neither limit is none. */
function parseRetention(json: RetentionJson | null | undefined): Retention | undefined {
  const maxAgeMs = json?.max_age_ms ?? null;
  const maxBytes = json?.max_bytes ?? null;
  return maxAgeMs === null && maxBytes === null ? undefined : { maxAgeMs, maxBytes };
}

function retentionJson(value: Retention) {
  return { max_age_ms: value.maxAgeMs, max_bytes: value.maxBytes };
}

function itemJson({ name, partitions, retention }: StreamMeta) {
  return { name, partitions, ...(retention === undefined ? {} : { retention: retentionJson(retention) }) };
}

function detailJson(detail: Awaited<ReturnType<Engine["streams"]["detail"]>>) {
  return {
    id: detail.id,
    partitions: detail.partitions.map(({ partition, logStartOffset, highWatermark }) => ({
      partition,
      log_start_offset: logStartOffset,
      high_watermark: highWatermark,
    })),
    retention: retentionJson(detail.retention),
  };
}

const one = "/v1/namespaces/:ns/streams/:stream";

export function streamRoutes(engine: Engine): Route[] {
  return [...setRoutes(engine), ...oneRoutes(engine)];
}

function setRoutes({ streams }: Engine): Route[] {
  return [
    {
      method: "POST",
      url: "/v1/namespaces/:ns/streams",
      access: "admin",
      tag: "streams",
      schema: {
        summary: "Create a stream",
        params: namespacePath,
        body: object(
          {
            name,
            partitions: optional({ type: "integer", minimum: 1, maximum: limits.partitionsMax }),
            retention: optional(retention),
          },
          ["name"],
        ),
        response: { 201: answer("Created", { id: positive }) },
      },
      handler: async (request, reply) => {
        const { ns } = request.params as StreamParams;
        const body = request.body as { name: string; partitions?: number | null; retention?: RetentionJson | null };
        const partitions = body.partitions ?? limits.partitionsDefault;
        const { id } = await streams.create(
          { namespace: ns, stream: body.name },
          partitions,
          parseRetention(body.retention),
        );
        reply.code(201);
        return { id };
      },
    },
    {
      method: "GET",
      url: "/v1/namespaces/:ns/streams",
      access: "read",
      tag: "streams",
      schema: {
        summary: "List the streams of a namespace, sorted by name: all of them, or a page",
        params: namespacePath,
        querystring: object({
          page_size: { type: "integer", minimum: 1, maximum: limits.pageSizeMax, description: "Default: all" },
          page_token: text,
        }),
        response: {
          200: answer("The streams", {
            streams: array({ type: "object", properties: { name: text, partitions: positive, retention } }),
            next_page_token: { ...text, description: "Token of the next page; empty at the end" },
          }),
        },
      },
      handler: (request) => {
        const { ns } = request.params as StreamParams;
        const query = request.query as { page_size?: number; page_token?: string };
        if (query.page_size === undefined && query.page_token === undefined) {
          return { streams: [...streams.list(ns)].map(itemJson) };
        }
        const after = parsePageToken(query.page_token ?? "");
        const page = streams.page(ns, query.page_size ?? limits.pageSizeDefault, after);
        return { streams: page.streams.map(itemJson), next_page_token: formatPageToken(page.nextAfter) };
      },
    },
  ];
}

function oneRoutes({ streams }: Engine): Route[] {
  return [
    {
      method: "GET",
      url: one,
      access: "read",
      tag: "streams",
      schema: {
        summary: "Get a stream with its partitions' watermarks",
        params: streamPath,
        headers: tokenHeader,
        querystring: object({ consistency }),
        response: { 200: detailAnswer },
      },
      handler: async (request, reply) => {
        const { ns, stream } = request.params as StreamParams;
        const token = readToken(request);
        const signal = token.length === 0 ? undefined : clientSignal(reply);
        return detailJson(await streams.detail({ namespace: ns, stream }, token, signal));
      },
    },
    {
      method: "PATCH",
      url: one,
      access: "admin",
      tag: "streams",
      schema: {
        summary: "Change a stream's retention; null keeps records forever",
        params: streamPath,
        body: object({ retention: optional(retention) }, ["retention"]),
        response: { 200: detailAnswer },
      },
      handler: async (request) => {
        const { ns, stream } = request.params as StreamParams;
        const body = request.body as { retention: RetentionJson | null };
        return detailJson(await streams.setRetention({ namespace: ns, stream }, parseRetention(body.retention)));
      },
    },
    {
      method: "DELETE",
      url: one,
      access: "admin",
      tag: "streams",
      schema: {
        summary: "Drop a stream and its records",
        params: streamPath,
        response: { 200: answer("Dropped", { dropped: { type: "boolean" } }) },
      },
      handler: async (request) => {
        const { ns, stream } = request.params as StreamParams;
        await streams.drop({ namespace: ns, stream });
        return { dropped: true };
      },
    },
  ];
}
