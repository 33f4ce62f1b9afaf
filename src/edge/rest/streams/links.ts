import type { FastifyReply } from "fastify";
import type { Engine } from "../../../engine/engine.ts";
import type { LinkDetail, LinkRead, LinkView } from "../../../engine/link/links.ts";
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
  type Schema,
  text,
  tokenHeader,
} from "../schemas.ts";

interface LinkParams {
  readonly ns: string;
  readonly link: string;
}

interface LinkJson {
  readonly name: string;
  readonly source: string;
  readonly target?: { readonly kind: string; readonly name?: string | null } | null;
  readonly options?: Record<string, unknown> | null;
}

const linkPath = object({ ns: name, link: name }, ["ns", "link"]);
const target: Schema = object({ kind: { type: "string", minLength: 1, maxLength: 128 }, name: optional(name) }, [
  "kind",
]);
const options: Schema = { type: "object", description: "Options of the target's kind" };
const listed = { name: text, source: text, target, status: text };

function listItem({ link, status }: LinkView) {
  return { name: link.name, source: link.source, target: link.target, status };
}

/** Written as text, since counters are integers of 64 bits. */
function detailText({ link, status, applied, lag, fields, error }: LinkDetail): string {
  const members = [
    `"id":${link.id}`,
    `"name":${JSON.stringify(link.name)}`,
    `"source":${JSON.stringify(link.source)}`,
    `"target":${JSON.stringify(link.target)}`,
    `"options":${JSON.stringify(link.options)}`,
    `"status":"${status}"`,
    ...(applied === undefined ? [] : [`"applied":${JSON.stringify(applied)}`]),
    `"lag":${JSON.stringify(lag)}`,
    ...fields,
    ...(error === undefined ? [] : [`"error":${JSON.stringify(error)}`]),
  ];
  return `{${members.join(",")}}`;
}

async function sendDetail(engine: Engine, params: LinkParams, reply: FastifyReply, read: LinkRead) {
  const detail = await engine.links.detail(params.ns, params.link, read, clientSignal(reply));
  reply.header("content-type", "application/json; charset=utf-8");
  return reply.send(detailText(detail));
}

export function linkRoutes(engine: Engine): Route[] {
  return [...setRoutes(engine), ...oneRoutes(engine)];
}

function setRoutes({ links }: Engine): Route[] {
  return [
    {
      method: "POST",
      url: "/v1/namespaces/:ns/links",
      access: "admin",
      tag: "links",
      schema: {
        summary: "Pipe a stream into a target",
        params: namespacePath,
        body: object({ name, source: name, target: optional(target), options: optional(options) }, ["name", "source"]),
        response: { 201: answer("Created", { id: positive }) },
      },
      handler: async (request, reply) => {
        const body = request.body as LinkJson;
        const { id } = await links.create({
          namespace: (request.params as LinkParams).ns,
          name: body.name,
          source: body.source,
          target: { kind: body.target?.kind ?? "counter", name: body.target?.name ?? body.name },
          options: body.options ?? {},
        });
        reply.code(201);
        return { id };
      },
    },
    {
      method: "GET",
      url: "/v1/namespaces/:ns/links",
      access: "read",
      tag: "links",
      schema: {
        summary: "List the links of a namespace, sorted by name",
        params: namespacePath,
        response: { 200: answer("The links", { links: array({ type: "object", properties: listed }) }) },
      },
      handler: (request) => ({ links: links.list((request.params as LinkParams).ns).map(listItem) }),
    },
  ];
}

function oneRoutes(engine: Engine): Route[] {
  const { links } = engine;
  return [
    {
      method: "GET",
      url: "/v1/namespaces/:ns/links/:link",
      access: "read",
      tag: "links",
      schema: {
        summary: "Get a link with its lag and the state of its target",
        params: linkPath,
        headers: tokenHeader,
        querystring: object({ consistency }),
        response: {
          200: answer("The link", {
            id: positive,
            ...listed,
            options,
            version: count,
            applied: array({ type: "object", properties: { partition: count, offset: count } }),
            lag: array({ type: "object", properties: { partition: count, records: count } }),
            counters: { type: "object" },
            skipped: count,
            errors: array(object({ partition: count, offset: count, reason: text }), {
              description: "Collection targets: the last skipped records, and why they were skipped",
            }),
            lost: { ...count, description: "Records that retention trimmed before the link read them" },
            error: { type: "string", description: "Why the link does not advance" },
          }),
        },
      },
      handler: (request, reply) => {
        const { consistency = "strong" } = request.query as Partial<LinkRead>;
        return sendDetail(engine, request.params as LinkParams, reply, { token: readToken(request), consistency });
      },
    },
    {
      method: "DELETE",
      url: "/v1/namespaces/:ns/links/:link",
      access: "admin",
      tag: "links",
      schema: {
        summary: "Delete a link and its counters; documents that it wrote stay",
        params: linkPath,
        response: { 200: answer("Deleted", { dropped: { type: "boolean" } }) },
      },
      handler: async (request) => {
        const { ns, link } = request.params as LinkParams;
        await links.delete(ns, link);
        return { dropped: true };
      },
    },
  ];
}
