export { runSteps, type Steps } from "../turns.ts";

/** Documents, rows or matches that one step looks at; about a millisecond. */
export const stepDocs = 16_384;
