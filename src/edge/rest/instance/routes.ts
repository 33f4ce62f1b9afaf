import type { AuditEntry, AuditLog } from "../../../engine/auth/audit.ts";
import { auditLimits } from "../../../engine/auth/audit.ts";
import { type ApiKeys, keyLimits } from "../../../engine/auth/keys.ts";
import { type Role, roles } from "../../../engine/auth/principal.ts";
import { invalid } from "../../../engine/errors.ts";
import type { Route } from "../route.ts";
import { answer, array, count, described, name, object, optional, positive, scopeAnswer, text } from "../schemas.ts";
import { keyJson, timeText } from "./key-json.ts";

const time = { ...optional(text), description: "RFC 3339" };
const keyAnswer = {
  name: text,
  id: text,
  role: { type: "string", enum: roles },
  ...scopeAnswer,
  status: { type: "string", enum: ["live", "expired", "revoked"] },
  created_at: time,
  expires_at: time,
  revoked_at: time,
};

function entryJson({ sequence, atMs, action, principal, address, namespace, target, outcome }: AuditEntry) {
  const who = { principal: principal ?? null, address: address ?? null, namespace: namespace ?? null };
  return { sequence, at: timeText(atMs), action, ...who, target: target ?? null, outcome };
}

/** Keys and the audit log, for admins of the whole instance. */
export function instanceRoutes(keys: ApiKeys, audit: AuditLog): Route[] {
  return [
    {
      method: "GET",
      url: "/v1/instance/keys",
      access: "instance-admin",
      tag: "instance",
      schema: {
        summary: "List the API keys, including revoked and expired ones",
        response: { 200: answer("The keys", { keys: array({ type: "object", properties: keyAnswer }) }) },
      },
      handler: () => ({ keys: keys.list().map(keyJson) }),
    },
    createKeyRoute(keys),
    {
      method: "DELETE",
      url: "/v1/instance/keys/:key",
      access: "instance-admin",
      tag: "instance",
      schema: {
        summary: "Revoke the active key of this name; it is refused from the next request on",
        params: object({ key: name }, ["key"]),
        response: { 200: answer("Revoked", keyAnswer) },
      },
      handler: async (request) => keyJson(await keys.revoke((request.params as { key: string }).key)),
    },
    auditRoute(audit),
  ];
}

function createKeyRoute(keys: ApiKeys): Route {
  return {
    method: "POST",
    url: "/v1/instance/keys",
    access: "instance-admin",
    tag: "instance",
    schema: {
      summary: "Create an API key; the answer contains it, once",
      body: object(
        {
          name,
          role: {
            type: "string",
            enum: roles,
            description: "reader reads, writer also writes, admin also creates and drops",
          },
          namespace: described(
            { ...optional(text), description: "The only namespace that the key may use. Default: all of them" },
            { pattern: name["pattern"] },
          ),
          namespaces: {
            ...optional(array(name)),
            minItems: 1,
            maxItems: keyLimits.namespacesMax,
            description: "The namespaces that the key may use, in place of `namespace`",
          },
          lifetime_ms: {
            ...optional(positive),
            maximum: keyLimits.lifetimeMsMax,
            description: "Default: it never expires",
          },
        },
        ["name", "role"],
      ),
      response: { 201: answer("Created", { ...keyAnswer, key: text }) },
    },
    handler: async (request, reply) => {
      const body = request.body as {
        readonly name: string;
        readonly role: Role;
        readonly namespace?: string | null;
        readonly namespaces?: readonly string[] | null;
        readonly lifetime_ms?: number | null;
      };
      if (body.namespace != null && body.namespaces != null) {
        throw invalid("namespaces", "can't be given together with namespace");
      }
      const namespaces = body.namespace == null ? body.namespaces : [body.namespace];
      const { info, key } = await keys.create({
        name: body.name,
        role: body.role,
        ...(namespaces == null ? {} : { namespaces }),
        ...(body.lifetime_ms == null ? {} : { lifetimeMs: body.lifetime_ms }),
      });
      reply.code(201).header("cache-control", "no-store");
      return { ...keyJson(info), key };
    },
  };
}

function auditRoute(audit: AuditLog): Route {
  return {
    method: "GET",
    url: "/v1/instance/audit",
    access: "instance-admin",
    tag: "instance",
    schema: {
      summary: "List sign-ins and administrative actions, newest first",
      querystring: object({
        limit: { type: "integer", minimum: 1, maximum: auditLimits.pageMax, default: 100 },
        before: { ...positive, description: "Entries older than this sequence" },
      }),
      response: {
        200: answer("A page; continue with the last sequence as `before`", {
          entries: array({
            type: "object",
            properties: {
              sequence: count,
              at: time,
              action: text,
              principal: optional(text),
              address: optional(text),
              namespace: optional(text),
              target: optional(text),
              outcome: text,
            },
          }),
        }),
      },
    },
    handler: (request) => {
      const { limit = 100, before } = request.query as { readonly limit?: number; readonly before?: number };
      return { entries: audit.list({ limit, before }).map(entryJson) };
    },
  };
}
