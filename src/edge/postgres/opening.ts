import type { Sql } from "../../engine/sql/sql.ts";
import type { ListenerLog } from "../../listener/registry.ts";
import { isLoopback } from "../auth/address.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { WireConnection } from "../wire/connection.ts";
import type { WireTls } from "../wire/tls.ts";
import { authenticatePassword, checkDatabase, type SignedIn, type SignInDeps, signIn } from "./auth.ts";
import type { Backends } from "./backends.ts";
import { PostgresError, postgresError } from "./error.ts";
import { Executor } from "./executor.ts";
import { postgresLimits } from "./limits.ts";
import {
  authenticationOk,
  authenticationPassword,
  backendKey,
  errorResponse,
  negotiateVersion,
  parameterStatus,
  readyForQuery,
} from "./message/backend.ts";
import { MessageReader } from "./message/reader.ts";
import type { MessageWriter } from "./message/writer.ts";
import type { PreparedStatements } from "./prepared-statements.ts";
import { Settings } from "./settings.ts";
import {
  decodeOpening,
  isOpeningLength,
  type OpeningMessage,
  parseOptions,
  type StartupMessage,
  tlsRecordType,
} from "./startup.ts";
import { StatementRunner } from "./statement-runner.ts";

export interface SessionDeps extends SignInDeps {
  readonly sql: Sql;
  readonly tls: WireTls;
  readonly backends: Backends;
  /** Of prepared statements and cursors. */
  readonly keptBytes: ByteBudget;
  readonly version: string;
  readonly log: ListenerLog;
  readonly isDraining: () => boolean;
  readonly onError?: (code: string) => void;
  /** Namespaces that the caller may see, for the list of databases. */
  readonly namespaces: (principal: SignedIn["principal"]) => readonly string[];
}

/** From the first byte to the first ReadyForQuery. Undefined when the connection is refused; it was sent the reason. */
export async function openSession(
  deps: SessionDeps,
  connection: WireConnection,
  out: MessageWriter,
  statements: PreparedStatements,
): Promise<Executor | undefined> {
  try {
    return await open(deps, connection, out, statements);
  } catch (error) {
    // A handshake that failed has nobody left to tell.
    if (!connection.isOpen) return undefined;
    const reply = postgresError(error);
    deps.onError?.(reply.code);
    errorResponse(out, reply, "FATAL");
    connection.end(out.take());
    return undefined;
  }
}

async function open(
  deps: SessionDeps,
  connection: WireConnection,
  out: MessageWriter,
  statements: PreparedStatements,
): Promise<Executor | undefined> {
  const startup = await readStartup(deps, connection);
  if (startup === undefined) return undefined;
  if (startup.type === "cancel") {
    deps.backends.cancel(startup.process, startup.secret);
    return undefined;
  }
  if (connection.overLimit) throw new PostgresError("53300", "sorry, too many clients already");
  if (deps.isDraining()) throw new PostgresError("57P03", "the database system is shutting down");
  const unknown = [...startup.parameters.keys()].filter((name) => name.startsWith("_pq_."));
  if (startup.minorVersion > 0 || unknown.length > 0) negotiateVersion(out, unknown);
  const user = startup.parameters.get("user") ?? "";
  if (user === "") throw new PostgresError("28000", "no PostgreSQL user name specified in startup packet");
  const namespace = startup.parameters.get("database") || user;
  if (!connection.isSecure && deps.tls.context !== undefined && !isLoopback(connection.remoteAddress ?? "")) {
    throw new PostgresError("28000", "connections from other machines must use TLS", { hint: "Use sslmode=require." });
  }
  const signedIn = await signIn(deps, connection, () => {
    if (!connection.isSecure && !isLoopback(connection.remoteAddress ?? "")) throw clearText();
    return askPassword(connection, out);
  });
  if (signedIn === undefined) return undefined;
  checkDatabase(deps, signedIn.principal, namespace);
  const settings = startSettings(deps, startup, user);
  return start(deps, { connection, out, statements, settings, signedIn, user, namespace });
}

async function readStartup(
  { tls }: SessionDeps,
  connection: WireConnection,
): Promise<Exclude<OpeningMessage, { type: "ssl" | "gss" }> | undefined> {
  // Each kind of encryption may be asked for once.
  for (let round = 0; round < 4; round++) {
    if (!(await connection.fill(1))) return undefined;
    if (connection.peek(1)[0] === tlsRecordType) {
      if (connection.isSecure || tls.context === undefined) return undefined;
      await connection.startTls(tls.context, ["postgresql"]);
      continue;
    }
    if (!(await connection.fill(4))) return undefined;
    const length = connection.peek(4).readInt32BE(0);
    if (!isOpeningLength(length)) {
      throw new PostgresError("08P01", "invalid length of startup packet");
    }
    if (!(await connection.fill(length))) return undefined;
    const message = decodeOpening(connection.take(length).subarray(4));
    if (message.type === "startup" || message.type === "cancel") return message;
    if (connection.isSecure) throw new PostgresError("08P01", "encryption is asked for within encryption");
    // Bytes that came along in clear text must not be taken for what was said in secret.
    if (connection.held > 0) {
      throw new PostgresError("08P01", "received unencrypted data after SSL request");
    }
    if (message.type === "ssl" && tls.context !== undefined) {
      const { context } = tls;
      connection.write(Buffer.from("S"));
      await connection.startTls(context, ["postgresql"]);
    } else {
      connection.write(Buffer.from("N"));
    }
  }
  throw new PostgresError("08P01", "encryption is asked for again and again");
}

/** PasswordMessage: `p`, length: int32, password: text */
async function askPassword(connection: WireConnection, out: MessageWriter): Promise<string | undefined> {
  authenticationPassword(out);
  connection.write(out.take());
  if (!(await connection.fill(5))) return undefined;
  const header = connection.peek(5);
  const length = header.readInt32BE(1);
  if (header[0] !== 0x70 || length < 4 || length > postgresLimits.passwordBytesMax) {
    throw new PostgresError("08P01", "expected a password response");
  }
  if (!(await connection.fill(length + 1))) return undefined;
  const reader = new MessageReader(connection.take(length + 1).subarray(5));
  const password = reader.cstring();
  reader.done();
  return password;
}

/** Parameters that are none of settings. */
const ownParameters = new Set(["user", "database", "options", "replication"]);

function startSettings(deps: SessionDeps, { parameters }: StartupMessage, user: string): Settings {
  if (/^(?:true|on|yes|1|database)$/i.test(parameters.get("replication") ?? "")) {
    throw new PostgresError("0A000", "replication is not supported");
  }
  const settings = new Settings(deps.version, user);
  for (const [name, value] of parseOptions(parameters.get("options") ?? "")) settings.set(name, value, false);
  for (const [name, value] of parameters) {
    // One that nobody knows is passed over: drivers send their own, and would get no connection for it.
    if (settings.has(name) && !ownParameters.has(name)) settings.set(name, value, false);
  }
  return settings;
}

interface Opened {
  readonly connection: WireConnection;
  readonly out: MessageWriter;
  readonly statements: PreparedStatements;
  readonly settings: Settings;
  readonly signedIn: SignedIn;
  readonly user: string;
  readonly namespace: string;
}

function start(deps: SessionDeps, opened: Opened): Executor {
  const { connection, out, statements, settings, signedIn, user, namespace } = opened;
  const backend = deps.backends.add(() => executor.cancel());
  connection.signal.addEventListener("abort", () => {
    deps.backends.remove(backend.process);
    executor.abandon();
  });
  const facts = {
    namespace,
    user,
    process: backend.process,
    version: deps.version,
    namespaces: () => deps.namespaces(signedIn.principal),
    prepared: () => statements.listed,
  };
  const runner = new StatementRunner({ sql: deps.sql, facts, settings });
  const { keptBytes } = deps;
  const recheck = rechecker(deps, connection, signedIn);
  const executor = new Executor({ runner, connection, out, settings, statements, keptBytes, recheck });
  authenticationOk(out);
  for (const [name, value] of settings.reported) parameterStatus(out, name, value);
  backendKey(out, backend.process, backend.secret);
  readyForQuery(out, "I");
  return executor;
}

function clearText(): PostgresError {
  return new PostgresError("28000", "a password is not asked for in clear text from another machine", {
    hint: "Give the server a certificate (SERVICE_TLS_CERT_FILE and SERVICE_TLS_KEY_FILE) and use sslmode=require.",
  });
}

/** A key that was revoked ends the sessions that it let in; a token is judged when it is shown, and a session outlives it. */
function rechecker(deps: SessionDeps, connection: WireConnection, { principal, password }: SignedIn) {
  if (principal.method !== "apikey" || password === undefined) return undefined;
  return async () => void (await authenticatePassword(deps, connection, password));
}
