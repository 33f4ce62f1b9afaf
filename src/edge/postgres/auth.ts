import { authorize, needs } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError } from "../../engine/errors.ts";
import type { Authenticator, AuthRequest } from "../auth/authenticator.ts";
import { PostgresError, postgresError } from "./error.ts";

/** How clients are let in. */
export interface SignInDeps {
  readonly authenticator: Authenticator;
  /** Whether API keys or tokens are taken, so that a password is worth asking for. */
  readonly takesPasswords: boolean;
  /** Whether a caller may be known without one: authentication is off, or the mesh tells who it is. */
  readonly takesNobody: boolean;
  readonly isNamespace: (name: string) => boolean;
}

export interface Peer {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number | undefined;
  readonly signal: AbortSignal;
}

export interface SignedIn {
  readonly principal: Principal;
  readonly password: string | undefined;
}

/**
 * The principal of a connection. A password is asked for in clear text: API keys are stored as hashes and tokens are
 * checked by their signature, so the server has nothing from which SCRAM's proofs could be made.
 */
export async function signIn(
  deps: SignInDeps,
  peer: Peer,
  askPassword: () => Promise<string | undefined>,
): Promise<SignedIn | undefined> {
  if (deps.takesNobody) {
    try {
      return { principal: await deps.authenticator.authenticate({ ...requestOf(peer) }), password: undefined };
    } catch (error) {
      if (!deps.takesPasswords) throw signInError(error);
    }
  }
  const password = await askPassword();
  if (password === undefined) return undefined;
  try {
    return { principal: await authenticatePassword(deps, peer, password), password };
  } catch (error) {
    throw signInError(error);
  }
}

export async function authenticatePassword(deps: SignInDeps, peer: Peer, password: string): Promise<Principal> {
  // An empty one is no credential; it must not become a caller without one.
  return deps.authenticator.authenticate({ ...requestOf(peer), authorization: `Bearer ${password}` });
}

function requestOf({ remoteAddress, remotePort, signal }: Peer): AuthRequest {
  return { remoteAddress, remotePort, signal };
}

function signInError(error: unknown): PostgresError {
  const { reason, message, details } = EngineError.from(error);
  if (reason === "permission_denied") return new PostgresError("28000", message);
  if (reason !== "unauthenticated" && reason !== "token_expired") return postgresError(error);
  const hint = typeof details["hint"] === "string" ? details["hint"] : "The password is an API key or an access token.";
  return new PostgresError("28P01", `password authentication failed: ${message}`, { hint });
}

/** The namespace that a database's name stands for. Only those who may read it learn whether it exists. */
export function checkDatabase(deps: SignInDeps, principal: Principal, database: string): void {
  try {
    authorize(principal, needs.readIn(database));
  } catch (error) {
    throw new PostgresError("42501", `permission denied for database "${database}": ${(error as Error).message}`);
  }
  if (deps.isNamespace(database)) return;
  throw new PostgresError("3D000", `database "${database}" does not exist`, {
    hint: "A database is a namespace; POST /v1/namespaces creates one.",
  });
}
