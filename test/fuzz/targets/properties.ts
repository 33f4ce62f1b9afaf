import { EngineError, type Reason } from "../../../src/engine/errors.ts";
import { Finding } from "../target.ts";

/** What `make` gives, or undefined where it refuses in a way that a caller may be told; anything else is a finding. */
export function refusing<T>(make: () => T, ...reasons: readonly Reason[]): T | undefined {
  try {
    return make();
  } catch (error) {
    checkRefusal(error, reasons);
    return undefined;
  }
}

/** Passes an error that a caller may be told: one of ours, with one of these reasons, naming its field where it must. */
export function checkRefusal(error: unknown, reasons: readonly Reason[]): void {
  if (!(error instanceof EngineError)) throw new Finding("an error that is none of ours", { cause: error });
  if (!reasons.includes(error.reason)) throw new Finding(`the reason ${error.reason}`, { cause: error });
  const { field } = error.details;
  if (error.reason === "invalid_argument" && (typeof field !== "string" || field === "")) {
    throw new Finding("bad input whose field is not named", { cause: error });
  }
  if (error.message.length > 4_000) throw new Finding("a message that is as long as the input", { cause: error });
}
