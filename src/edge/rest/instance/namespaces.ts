import { visibleNamespaces } from "../../../engine/auth/access.ts";
import { roles } from "../../../engine/auth/principal.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { Quota, QuotaState } from "../../../engine/quota/quotas.ts";
import type { Route } from "../route.ts";
import {
  answer,
  array,
  count,
  name,
  namespacePath,
  object,
  optional,
  positive,
  scopeAnswer,
  text,
} from "../schemas.ts";
import { scopeJson } from "./key-json.ts";

const namespaceAnswer = { name: text, id: positive };

const requestsPerSecondMax = 1_000_000;
const quotaFields = {
  max_bytes: optional({ ...positive, description: "Bytes of records, documents and live tables; null: no limit" }),
  max_requests_per_second: optional({ ...positive, maximum: requestsPerSecondMax, description: "null: no limit" }),
};
const quotaAnswer = answer("The quota and the usage", { ...quotaFields, used_bytes: count });

interface QuotaBody {
  readonly max_bytes?: number | null;
  readonly max_requests_per_second?: number | null;
}

function quotaOf({ max_bytes, max_requests_per_second }: QuotaBody): Quota {
  return { maxBytes: max_bytes ?? null, maxRequestsPerSecond: max_requests_per_second ?? null };
}

function quotaJson({ maxBytes, maxRequestsPerSecond, usedBytes }: QuotaState) {
  return { max_bytes: maxBytes, max_requests_per_second: maxRequestsPerSecond, used_bytes: usedBytes };
}

export function namespaceRoutes(engine: Engine): Route[] {
  return [...setRoutes(engine), ...oneRoutes(engine)];
}

function setRoutes({ metastore }: Engine): Route[] {
  return [
    {
      method: "POST",
      url: "/v1/namespaces",
      access: "instance-admin",
      tag: "namespaces",
      schema: {
        summary: "Create a namespace",
        body: object({ name }, ["name"]),
        response: { 201: answer("Created", { id: positive }) },
      },
      handler: async (request, reply) => {
        const { id } = await metastore.createNamespace((request.body as { name: string }).name);
        reply.code(201);
        return { id };
      },
    },
    {
      method: "GET",
      url: "/v1/namespaces",
      access: "signed-in",
      tag: "namespaces",
      schema: {
        summary: "List the namespaces, sorted by name",
        response: {
          200: answer("The namespaces", { namespaces: array({ type: "object", properties: namespaceAnswer }) }),
        },
      },
      handler: (request) => ({
        namespaces: visibleNamespaces(request.principal, [...metastore.namespaces()], (each) => each.name).map(
          (each) => ({
            name: each.name,
            id: each.id,
          }),
        ),
      }),
    },
    {
      method: "GET",
      url: "/v1/access",
      access: "signed-in",
      tag: "namespaces",
      schema: {
        summary: "What the caller may do: its role, and the namespaces that it is limited to, if any",
        response: {
          200: answer("The caller's access", { role: { type: "string", enum: roles }, ...scopeAnswer }),
        },
      },
      handler: ({ principal }) => ({ role: principal?.role ?? "admin", ...scopeJson(principal ?? {}) }),
    },
  ];
}

function oneRoutes({ metastore, quotas }: Engine): Route[] {
  return [
    {
      method: "GET",
      url: "/v1/namespaces/:ns",
      access: "read",
      tag: "namespaces",
      schema: {
        summary: "Get a namespace",
        params: namespacePath,
        response: { 200: answer("The namespace", namespaceAnswer) },
      },
      handler: (request) => {
        const found = metastore.namespace((request.params as { ns: string }).ns);
        return { name: found.name, id: found.id };
      },
    },
    {
      method: "GET",
      url: "/v1/namespaces/:ns/quota",
      access: "read",
      tag: "namespaces",
      schema: {
        summary: "Get a namespace's quota and what it uses",
        params: namespacePath,
        response: { 200: quotaAnswer },
      },
      handler: async (request) => quotaJson(await quotas.get((request.params as { ns: string }).ns)),
    },
    {
      method: "PUT",
      url: "/v1/namespaces/:ns/quota",
      // Not for the admin of one namespace, whom it bounds.
      access: "instance-admin",
      tag: "namespaces",
      schema: {
        summary: "Replace a namespace's quota; an empty one removes all limits",
        params: namespacePath,
        body: object(quotaFields),
        response: { 200: quotaAnswer },
      },
      handler: async (request) => {
        const { ns } = request.params as { ns: string };
        return quotaJson(await quotas.set(ns, quotaOf(request.body as QuotaBody)));
      },
    },
    {
      method: "DELETE",
      url: "/v1/namespaces/:ns",
      access: "instance-admin",
      tag: "namespaces",
      schema: {
        summary: "Delete an empty namespace",
        params: namespacePath,
        response: { 200: answer("Deleted", { dropped: { type: "boolean" } }) },
      },
      handler: async (request) => {
        await metastore.deleteNamespace((request.params as { ns: string }).ns);
        return { dropped: true };
      },
    },
  ];
}
