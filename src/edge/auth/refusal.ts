import { EngineError } from "../../engine/errors.ts";

/** The answers of this part to a credential that does not pass. None of them repeats any of it. */
export function unauthenticated(message: string): EngineError {
  return new EngineError("unauthenticated", message);
}

export function notAdmitted(message: string): EngineError {
  return new EngineError("permission_denied", message);
}

const expiredHint = "Sign in again to get a new access token.";

export function tokenExpired(): EngineError {
  return new EngineError("token_expired", "the access token has expired", {
    details: { reason: "token_expired", hint: expiredHint },
    metadata: { hint: expiredHint },
  });
}
