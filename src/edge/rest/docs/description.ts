import { namedShapes } from "../body-shapes.ts";
import { describedKeyword } from "../http/validation.ts";
import type { Schema } from "../schemas.ts";

interface Operation {
  readonly requestBody?: {
    required?: boolean;
    readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
  };
}

interface Document {
  readonly components?: object;
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** The API's description as it is shown: with what is said in it alone, and bodies that may be left out. */
export function describeApi(document: object): object {
  const shown = withDescribed(document) as Document;
  for (const { requestBody } of Object.values(shown.paths ?? {}).flatMap((path) => Object.values(path))) {
    if (requestBody !== undefined && mayBeLeftOut(requestBody.content?.["application/json"]?.schema)) {
      requestBody.required = false;
    }
  }
  return { ...shown, components: { ...shown.components, schemas: namedShapes } };
}

/** A body in no JSON of ours is an event's data, which an event need not have. */
function mayBeLeftOut(schema: Schema | undefined): boolean {
  if (schema === undefined) return true;
  const { required, anyOf } = schema;
  return Array.isArray(required) && required.length === 0 && anyOf === undefined;
}

function withDescribed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDescribed);
  if (typeof value !== "object" || value === null) return value;
  const { [describedKeyword]: more, ...rest } = value as Record<string, unknown>;
  const shown = Object.entries({ ...rest, ...(more as object | undefined) });
  return Object.fromEntries(shown.map(([key, each]) => [key, withDescribed(each)]));
}
