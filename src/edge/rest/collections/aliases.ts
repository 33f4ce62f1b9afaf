import type { AliasAction } from "../../../engine/collection/collections.ts";
import type { Engine } from "../../../engine/engine.ts";
import { invalid } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import { refuseUnknown } from "../../../engine/unknown-fields.ts";
import { aliasAction } from "../body-shapes.ts";
import type { Route } from "../route.ts";
import { answer, array, consistency, namespacePath, object, text } from "../schemas.ts";

interface AliasParams {
  readonly ns: string;
}

const tag = "collections";
const aliasesAnswer = answer("The aliases", { aliases: array(object({ alias: text, collection: text })) });

export function aliasRoutes({ collections }: Engine): Route[] {
  return [
    {
      method: "GET",
      url: "/v1/namespaces/:ns/aliases",
      access: "read",
      tag,
      schema: {
        summary: "List the aliases of a namespace",
        params: namespacePath,
        querystring: object({ consistency }),
        response: { 200: aliasesAnswer },
      },
      handler: (request) => ({ aliases: collections.aliases((request.params as AliasParams).ns) }),
    },
    {
      method: "POST",
      url: "/v1/namespaces/:ns/aliases",
      access: "admin",
      tag,
      schema: {
        summary: "Apply alias actions, all or none",
        params: namespacePath,
        body: object({ actions: array(aliasAction, { minItems: 1, maxItems: limits.aliasActionsMax }) }, ["actions"]),
        response: { 200: aliasesAnswer },
      },
      handler: async (request) => {
        const { actions } = request.body as { actions: unknown[] };
        const parsed = actions.map((action, i) => parseAction(`actions[${i}]`, action));
        return { aliases: await collections.updateAliases((request.params as AliasParams).ns, parsed) };
      },
    },
  ];
}

function parseAction(path: string, value: unknown): AliasAction {
  const [entry, ...more] = Object.entries(value as Record<string, unknown>);
  if (entry === undefined || more.length > 0) throw invalid(path, "must have one key, add or remove");
  const [kind, body] = entry;
  if (kind !== "add" && kind !== "remove") throw invalid(`${path}.${kind}`, "unknown action; known are add and remove");
  if (typeof body !== "object" || body === null) throw invalid(`${path}.${kind}`, "must be an object");
  refuseUnknown(`${path}.${kind}`, body, kind === "add" ? ["alias", "collection"] : ["alias"]);
  const { alias, collection } = body as Record<string, unknown>;
  if (typeof alias !== "string") throw invalid(`${path}.${kind}.alias`, "must be a string");
  if (kind === "remove") return { kind, alias };
  if (typeof collection !== "string") throw invalid(`${path}.add.collection`, "must be a string");
  return { kind, alias, collection };
}
