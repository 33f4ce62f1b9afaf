import { visibleNamespaces } from "../../../engine/auth/access.ts";
import { roles } from "../../../engine/auth/principal.ts";
import type { Engine } from "../../../engine/engine.ts";
import type { Route } from "../route.ts";
import { answer, array, name, namespacePath, object, optional, positive, text } from "../schemas.ts";

const namespaceAnswer = { name: text, id: positive };

export function namespaceRoutes(engine: Engine): Route[] {
  const { metastore } = engine;
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
        summary: "What the caller may do: its role, and the one namespace that it is kept to, if any",
        response: {
          200: answer("The caller's access", { role: { type: "string", enum: roles }, namespace: optional(text) }),
        },
      },
      handler: ({ principal }) => ({ role: principal?.role ?? "admin", namespace: principal?.namespace ?? null }),
    },
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
