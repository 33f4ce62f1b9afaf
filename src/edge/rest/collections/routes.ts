import type { FastifyReply, FastifyRequest } from "fastify";
import { manifestRecords } from "../../../engine/collection/collection-store.ts";
import { formatPageToken, parsePageToken } from "../../../engine/collection/cursor.ts";
import type { DocumentRef, Documents } from "../../../engine/collection/documents.ts";
import type { Engine } from "../../../engine/engine.ts";
import { limits } from "../../../engine/limits.ts";
import { formatSchema, parseFields, parseSchema } from "../../../engine/schema/schema-parse.ts";
import { collectionSchema, schemaField } from "../body-shapes.ts";
import { clientSignal, type Route, readToken, sendToken } from "../route.ts";
import {
  answer,
  array,
  consistency,
  count,
  flag,
  name,
  namespacePath,
  object,
  optional,
  optionalConsistency,
  positive,
  type Schema,
  text,
  tokenHeader,
} from "../schemas.ts";
import { aliasRoutes } from "./aliases.ts";
import { infoJson, scanJson } from "./json.ts";

export interface CollectionParams {
  readonly ns: string;
  readonly c: string;
}

export function refOf(request: FastifyRequest): DocumentRef {
  const { ns, c } = request.params as CollectionParams;
  return { namespace: ns, collection: c };
}

export const collectionPath = object({ ns: name, c: name }, ["ns", "c"]);
/** Accepted on every read; what is known of a collection itself is always the newest. */
const readQuery = object({ consistency });
const anyObject: Schema = { type: "object" };
const infoAnswer = answer("The collection", {
  id: positive,
  namespace: text,
  name: text,
  aliases: array(text),
  schema: anyObject,
  schema_version: positive,
  manifest: anyObject,
  hot: anyObject,
  backpressure: anyObject,
});

function createdAt(ms: number): string {
  return new Date(ms).toISOString();
}

const one = "/v1/namespaces/:ns/collections/:c";
const tag = "collections";

/** The collection of a read, once it has what the read's token names. */
async function readingOf(documents: Documents, request: FastifyRequest, reply: FastifyReply) {
  const { ns, c } = request.params as CollectionParams;
  const token = readToken(request);
  if (token.length > 0) {
    await documents.reading(refOf(request), { token, eventual: false }, clientSignal(reply));
  }
  return { ns, c };
}

export function collectionRoutes(engine: Engine): Route[] {
  return [
    ...setRoutes(engine),
    ...oneRoutes(engine),
    versionsRoute(engine),
    ...aliasRoutes(engine),
    ...indexRoutes(engine),
  ];
}

function setRoutes({ collections }: Engine): Route[] {
  return [
    {
      method: "POST",
      url: "/v1/namespaces/:ns/collections",
      access: "admin",
      tag,
      schema: {
        summary: "Create a collection; repeating it with the same schema returns the existing one",
        params: namespacePath,
        body: object({ name, schema: collectionSchema }, ["name", "schema"]),
        response: { 200: infoAnswer },
      },
      handler: async (request) => {
        const body = request.body as { name: string; schema: unknown };
        return infoJson(
          await collections.create((request.params as CollectionParams).ns, body.name, parseSchema(body.schema)),
        );
      },
    },
    {
      method: "GET",
      url: "/v1/namespaces/:ns/collections",
      access: "read",
      tag,
      schema: {
        summary: "List the collections of a namespace by name",
        params: namespacePath,
        querystring: object({
          page_size: { type: "integer", minimum: 1, maximum: limits.pageSizeMax, default: limits.pageSizeDefault },
          page_token: text,
          consistency,
        }),
        response: { 200: answer("A page", { collections: array(anyObject), next_page_token: text }) },
      },
      handler: (request) => {
        const query = request.query as { page_size?: number; page_token?: string };
        const after = parsePageToken(query.page_token ?? "");
        const size = query.page_size ?? limits.pageSizeDefault;
        const { infos, nextPageToken } = collections.list((request.params as CollectionParams).ns, size, after);
        return { collections: infos.map(infoJson), next_page_token: formatPageToken(nextPageToken) };
      },
    },
  ];
}

function oneRoutes({ collections, documents }: Engine): Route[] {
  return [
    {
      method: "GET",
      url: one,
      access: "read",
      tag,
      schema: {
        summary: "Get a collection by its name or an alias",
        params: collectionPath,
        headers: tokenHeader,
        querystring: readQuery,
        response: { 200: infoAnswer },
      },
      handler: async (request, reply) => {
        const { ns, c } = await readingOf(documents, request, reply);
        return infoJson(collections.get(ns, c));
      },
    },
    {
      method: "DELETE",
      url: one,
      access: "admin",
      tag,
      schema: {
        summary: "Drop a collection with its documents, indexes and aliases",
        params: collectionPath,
        response: { 200: answer("Dropped", { dropped: flag }) },
      },
      handler: async (request) => {
        const { ns, c } = request.params as CollectionParams;
        await collections.drop(ns, c);
        return { dropped: true };
      },
    },
    {
      method: "POST",
      url: `${one}/fields`,
      access: "admin",
      tag,
      schema: {
        summary: "Add fields to the schema; existing documents are filled in in the background",
        params: collectionPath,
        body: object({ fields: array(schemaField, { minItems: 1 }), expected_schema_version: optional(positive) }, [
          "fields",
        ]),
        response: { 200: answer("The schema", { schema: anyObject, schema_version: positive }) },
      },
      handler: async (request) => {
        const { ns, c } = request.params as CollectionParams;
        const body = request.body as { fields: unknown[]; expected_schema_version?: number | null };
        const fields = parseFields("fields", body.fields);
        const meta = await collections.addFields(ns, c, fields, body.expected_schema_version ?? undefined);
        return { schema: formatSchema(meta.schema), schema_version: meta.schemaVersion };
      },
    },
  ];
}

function versionsRoute({ collections, documents }: Engine): Route {
  return {
    method: "GET",
    url: `${one}/versions`,
    access: "read",
    tag,
    schema: {
      summary: "List the retained manifests",
      params: collectionPath,
      headers: tokenHeader,
      querystring: readQuery,
      response: { 200: answer("The versions", { versions: array(anyObject) }) },
    },
    handler: async (request, reply) => {
      const { ns, c } = await readingOf(documents, request, reply);
      return {
        versions: collections.versions(ns, c).map(({ manifest, lance }) => ({
          version: manifest.version,
          created_at: createdAt(manifest.createdAtMs),
          records: manifestRecords(manifest),
          lance,
          applied: manifest.applied,
        })),
      };
    },
  };
}

function indexRoutes({ collections, documents }: Engine): Route[] {
  return [
    {
      method: "PUT",
      url: `${one}/hot`,
      access: "admin",
      tag,
      schema: {
        summary: "Keep a collection's index in memory, or stop doing so",
        params: collectionPath,
        body: object({ enabled: flag }, ["enabled"]),
        response: { 200: answer("The state", { hot: anyObject }) },
      },
      handler: async (request) => {
        const { ns, c } = request.params as CollectionParams;
        return { hot: await collections.setHot(ns, c, (request.body as { enabled: boolean }).enabled) };
      },
    },
    {
      method: "POST",
      url: `${one}/warm`,
      access: "write",
      tag,
      schema: {
        summary: "Start loading a collection's index into memory",
        params: collectionPath,
        body: object({}),
        response: { 202: answer("Started", { status: text }) },
      },
      handler: (request, reply) => {
        const { ns, c } = request.params as CollectionParams;
        collections.warm(ns, c);
        reply.code(202);
        return { status: "accepted" };
      },
    },
    {
      method: "POST",
      url: `${one}/scan`,
      access: "read",
      tag,
      schema: {
        summary: "Pin a version of the columnar dataset for external readers",
        params: collectionPath,
        headers: tokenHeader,
        body: object({ consistency: optionalConsistency }),
        response: {
          200: answer("The plan", {
            lance: optional(anyObject),
            tail_records: count,
            schema: anyObject,
            token: array(anyObject),
          }),
        },
      },
      handler: async (request, reply) => {
        const { ns, c } = await readingOf(documents, request, reply);
        const plan = collections.scan(ns, c);
        sendToken(reply, plan.token);
        return scanJson(plan);
      },
    },
  ];
}
