import { EngineError } from "../../errors.ts";

const member = "damaged_object";

/** An object of the index that is missing or not what was written. The documents hold all that is needed to make it again. */
export function indexDamage(path: string, cause: unknown): EngineError {
  const what = cause instanceof Error ? cause.message : String(cause);
  return new EngineError("internal", `the index object ${path} can't be used: ${what}`, {
    details: { [member]: path },
    cause,
  });
}

/** The path of the object at fault, when an error tells of one. */
export function damagedObject(error: unknown): string | undefined {
  if (!(error instanceof EngineError)) return undefined;
  const path = error.details[member];
  return typeof path === "string" ? path : undefined;
}
