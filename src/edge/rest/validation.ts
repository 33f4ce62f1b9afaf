import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { FastifySchemaCompiler, FastifySchemaValidationError } from "fastify";
import { describedKeyword } from "./schemas.ts";

const ajv = new Ajv2020({
  allErrors: false,
  // An error then holds the value at fault and its schema, so that every unknown field beside a missing one is told.
  verbose: true,
  strict: true,
  allowUnionTypes: true,
  validateFormats: false,
  coerceTypes: false,
  keywords: [describedKeyword],
});

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: string | readonly string[] }>>;
}

/** The check of one part of a request. Bodies say their types; paths and queries are text, read by their schema. */
export const compileSchema: FastifySchemaCompiler<unknown> = ({ schema, httpPart }) => {
  const validate = ajv.compile(schema as object);
  return httpPart === "body" ? validate : readingText(schema as ObjectSchema, validate);
};

/** Only plain forms are read: what a looser reading would take for a number, such as `1e3` or `0x10`, is refused. */
function readingText({ properties = {} }: ObjectSchema, validate: ValidateFunction) {
  const readers = Object.entries(properties).flatMap(([name, { type }]) => {
    const types = [type].flat();
    if (types.includes("integer")) return [[name, readInteger] as const];
    return types.includes("boolean") ? [[name, readBoolean] as const] : [];
  });
  return (data: unknown) => {
    const parts = data as Record<string, unknown>;
    for (const [name, read] of readers) {
      const text = parts[name];
      if (typeof text === "string") parts[name] = read(text);
    }
    return validate(parts) || { error: validate.errors as FastifySchemaValidationError[] };
  };
}

function readInteger(text: string): unknown {
  return /^-?\d+$/.test(text) ? Number(text) : text;
}

function readBoolean(text: string): unknown {
  return text === "true" ? true : text === "false" ? false : text;
}
