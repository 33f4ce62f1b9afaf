import type { FastifyError } from "fastify";
import { EngineError, invalid, reasons } from "../../engine/errors.ts";
import { unknownFields } from "../../engine/unknown-fields.ts";

export interface ErrorReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The one place where a reason becomes a REST answer. */
export function errorReply(error: EngineError): ErrorReply {
  const { http, rest } = reasons[error.reason];
  const headers: Record<string, string> = {};
  const retryAfterMs = error.retryAfterMs ?? (http === 503 ? 1000 : undefined);
  if (retryAfterMs !== undefined) headers["retry-after"] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
  if (http === 401) headers["www-authenticate"] = "Bearer";
  const body: Record<string, unknown> = { error: rest, message: error.message, ...error.details };
  return { status: http, headers, body };
}

interface AjvError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The value at fault and the schema that it does not meet. */
  readonly data?: unknown;
  readonly parentSchema?: { readonly properties?: object; readonly additionalProperties?: unknown };
}

/** Turns whatever a handler, the router or the body parser threw into an EngineError. */
export function toEngineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  const { validation, validationContext, statusCode, message } = error as FastifyError;
  if (validation !== undefined)
    return validationError(validation as unknown as AjvError[], validationContext ?? "body");
  if (statusCode === 415) {
    return new EngineError("unsupported_media_type", "content-type: is no media type; send application/json", {
      details: { field: "content-type" },
    });
  }
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500) return invalid("request", message);
  return EngineError.from(error);
}

const placeNames: Readonly<Record<string, string>> = {
  querystring: "query",
  params: "path",
  headers: "header",
  body: "body",
};

/** `/records/0/value` becomes `records[0].value`. */
function fieldPath(instancePath: string): string {
  let path = "";
  for (const part of instancePath.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (/^\d+$/.test(name)) path += `[${name}]`;
    else path += path === "" ? name : `.${name}`;
  }
  return path;
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name === "" ? '""' : name}`;
}

/** A failed branch of `anyOf` says less than the failure inside it. */
function mostTelling(errors: readonly AjvError[]): AjvError {
  return errors.find(({ keyword }) => keyword === "additionalProperties" || keyword === "required") ?? errors[0]!;
}

/** The names in the value at fault that its schema does not know. */
function unknownNames({ data, parentSchema }: AjvError): string[] {
  if (parentSchema?.additionalProperties !== false) return [];
  const known = parentSchema.properties ?? {};
  return Object.keys(data as object).filter((name) => !Object.hasOwn(known, name));
}

function validationError(errors: readonly AjvError[], context: string): EngineError {
  const error = mostTelling(errors);
  const path = fieldPath(error.instancePath);
  const unknownKind = context === "querystring" ? "unknown query parameter" : undefined;
  switch (error.keyword) {
    case "additionalProperties":
      return unknownFields(path, unknownNames(error), undefined, unknownKind);
    case "required": {
      const missing = join(path, String(error.params["missingProperty"]));
      const unknown = unknownNames(error);
      if (unknown.length === 0) return invalid(missing, "is required");
      // A field that is missing is mostly a misspelt one, so what is unknown is told first.
      return unknownFields(path, unknown, `${missing} is required`, unknownKind);
    }
    case "pattern":
      return invalid(path, `must match ${String(error.params["pattern"])}`);
    case "enum":
      return invalid(
        path,
        `must be one of ${(error.params["allowedValues"] as unknown[]).filter((value) => value !== null).join(", ")}`,
      );
    default: {
      const isEmpty = error.keyword === "minItems" || error.keyword === "minLength";
      if (isEmpty && error.params["limit"] === 1) return invalid(path, "must not be empty");
      // Null stands for an optional field that is absent; it is no type that anyone wants to be told of.
      const message = error.message?.replace(/,null$/, "") ?? "is not valid";
      return invalid(path === "" ? (placeNames[context] ?? context) : path, message);
    }
  }
}
