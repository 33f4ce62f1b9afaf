import type { Principal } from "../../engine/auth/principal.ts";
import { EngineError } from "../../engine/errors.ts";
import type { ListenerLog } from "../../listener/registry.ts";
import type { Clock } from "../../port/clock.ts";
import { isLoopback } from "../auth/address.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { ByteBudget } from "../wire/byte-budget.ts";
import type { WireConnection } from "../wire/connection.ts";
import type { WireSession } from "../wire/listener.ts";
import type { WireTls } from "../wire/tls.ts";
import {
  acceptUnseen,
  accessDenied,
  cachingSha2,
  createNonce,
  credentialOf,
  type PasswordKey,
  receivePassword,
} from "./auth.ts";
import { capability, has, offered } from "./capability.ts";
import type { Catalog } from "./catalog.ts";
import { readCommand } from "./command.ts";
import type { SignedIn } from "./command-handler.ts";
import { CommandHandler } from "./command-handler.ts";
import { type MysqlError, mysqlError, toMysqlError, writeError } from "./error.ts";
import { type HandshakeResponse, isSslRequest, readHandshakeResponse, writeGreeting } from "./handshake.ts";
import { mysqlLimits } from "./limits.ts";
import { PacketReader } from "./packet-reader.ts";
import { PacketWriter } from "./packet-writer.ts";
import type { Process, ProcessList } from "./process-list.ts";
import { writeOk } from "./reply.ts";
import { ClientGone } from "./result-writer.ts";
import type { RunnerDeps } from "./statement-runner.ts";
import type { ServerFacts } from "./variable-defaults.ts";
import { Variables } from "./variables.ts";

export interface SessionDeps extends Omit<RunnerDeps, "connection"> {
  readonly catalog: Catalog;
  readonly processes: ProcessList;
  readonly authenticator: Authenticator;
  /** Undefined with authentication off: then anybody is who they say. */
  readonly passwordKey: Promise<PasswordKey> | undefined;
  readonly tls: WireTls;
  /** Of prepared statements and their long data. */
  readonly keptBytes: ByteBudget;
  readonly clock: Clock;
  readonly log: ListenerLog;
  readonly facts: () => ServerFacts;
  readonly isDraining: () => boolean;
  readonly onError?: (errno: number) => void;
}

/** One connection: greeting, TLS, sign-in, then one command after another. */
export class Session implements WireSession, Process {
  readonly id: number;
  readonly #deps: SessionDeps;
  readonly #connection: WireConnection;
  readonly #reader: PacketReader;
  readonly #packet = new PacketWriter();
  readonly #nonce = createNonce();
  #state: SignedIn | undefined;
  #handler: CommandHandler | undefined;

  constructor(connection: WireConnection, deps: SessionDeps) {
    this.#connection = connection;
    this.#deps = deps;
    this.#reader = new PacketReader(connection);
    this.id = deps.processes.nextId();
  }

  get principal(): Principal | undefined {
    return this.#state?.principal;
  }

  get user(): string {
    return this.#state?.user ?? "unauthenticated user";
  }

  get host(): string {
    return this.#connection.remoteAddress ?? "";
  }

  get database(): string | undefined {
    return this.#state?.database;
  }

  get running(): Process["running"] {
    return this.#handler?.running;
  }

  kill(whole: boolean): void {
    if (whole) this.#sayLast(mysqlError("shutdown", "Connection was killed"));
    this.#handler?.interrupt();
    if (whole) this.#connection.end();
  }

  drain(): void {
    // A statement under way is answered first; the loop ends after it.
    if (this.#connection.phase !== "busy") this.#sayLast(shutdown());
  }

  expire(): void {
    this.#sayLast(mysqlError("idleTimeout", "The client was disconnected by the server because of inactivity"));
  }

  async run(): Promise<void> {
    const { processes } = this.#deps;
    const refusal = this.#refusal();
    if (refusal !== undefined) return this.#sayLast(refusal, false);
    processes.add(this);
    try {
      const response = await this.#greet();
      if (response === undefined || !(await this.#signIn(response))) return;
      await this.#serve();
    } catch (error) {
      if (error instanceof ClientGone || this.#connection.signal.aborted) return;
      this.#sayLast(this.#errorOf(error));
    } finally {
      processes.remove(this.id);
      await this.#handler?.close();
    }
  }

  #refusal(): MysqlError | undefined {
    if (this.#connection.overLimit) return mysqlError("tooManyConnections", "Too many connections");
    return this.#deps.isDraining() ? shutdown() : undefined;
  }

  /** The client's answer to the greeting, after TLS where it wants that; undefined when it has gone. */
  async #greet(): Promise<HandshakeResponse | undefined> {
    const { tls, facts } = this.#deps;
    const connection = this.#connection;
    const context = tls.context;
    const capabilities = offered(context !== undefined);
    writeGreeting(this.#packet, {
      version: facts().version,
      connectionId: this.id,
      nonce: this.#nonce,
      capabilities,
      plugin: cachingSha2,
    });
    this.#flush();
    let payload = await this.#read();
    if (payload !== undefined && isSslRequest(payload)) {
      if (context === undefined) throw mysqlError("handshake", "Bad handshake: this server has no certificate for TLS");
      await connection.startTls(context).catch(() => {
        throw new ClientGone();
      });
      payload = await this.#read();
    }
    if (payload === undefined) return undefined;
    const response = readHandshakeResponse(payload);
    return { ...response, capabilities: response.capabilities & capabilities };
  }

  async #signIn(response: HandshakeResponse): Promise<boolean> {
    const { facts, catalog } = this.#deps;
    const found = await this.#authenticate(response);
    if (found === undefined) return false;
    const state: SignedIn = {
      ...found,
      connectionId: this.id,
      host: this.host,
      capabilities: response.capabilities,
      variables: new Variables(facts()),
      database: undefined,
      inTransaction: false,
    };
    if (response.database !== undefined) catalog.open(found.principal, found.user, response.database);
    state.database = response.database;
    this.#state = state;
    this.#handler = new CommandHandler({
      ...this.#deps,
      connection: this.#connection,
      packet: this.#packet,
      state,
      multiStatements: has(response.capabilities, capability.multiStatements),
      changeUser: (response) => this.#changeUser(response),
      errorOf: (error) => this.#errorOf(error),
      recheck: () => this.#recheck(),
    });
    writeOk(this.#packet, this.#handler.status);
    this.#flush();
    return true;
  }

  /** Who the client is, or undefined when it has gone; a refusal is thrown. */
  async #authenticate(
    response: HandshakeResponse,
  ): Promise<Pick<SignedIn, "principal" | "user" | "recheck" | "checkedMs"> | undefined> {
    const { authenticator, passwordKey, clock } = this.#deps;
    const connection = this.#connection;
    const { user } = response;
    const channel = {
      isSecure: connection.isSecure,
      isLocal: isLoopback(connection.remoteAddress ?? ""),
      packet: this.#packet,
      flush: () => this.#flush(),
      read: () => this.#read(),
    };
    const isOpen = passwordKey === undefined;
    const password = isOpen ? "" : await receivePassword(channel, response, this.#nonce, passwordKey);
    if (password === undefined) return undefined;
    const recheck = async () =>
      authenticator.authenticate({
        ...credentialOf(password),
        remoteAddress: connection.remoteAddress,
        remotePort: connection.remotePort,
        signal: connection.signal,
      });
    let principal: Principal;
    try {
      principal = await recheck();
    } catch (error) {
      throw refusedSignIn(error, user, this.host, password);
    }
    if (isOpen) acceptUnseen(channel, response);
    return { principal, user, recheck: isOpen ? undefined : recheck, checkedMs: clock.steadyMs() };
  }

  async #changeUser(response: HandshakeResponse): Promise<void> {
    const state = this.#state!;
    const found = await this.#authenticate(response);
    if (found === undefined) throw new ClientGone();
    if (response.database !== undefined) {
      this.#deps.catalog.open(found.principal, found.user, response.database);
    }
    Object.assign(state, found, { database: response.database, inTransaction: false });
    state.variables.reset();
  }

  async #serve(): Promise<void> {
    const connection = this.#connection;
    for (;;) {
      connection.phase = "idle";
      if (this.#deps.isDraining()) return this.#sayLast(shutdown());
      this.#packet.sequence = 0;
      const payload = await this.#read();
      if (payload === undefined) return;
      connection.phase = "busy";
      connection.touched();
      this.#deps.processes.questions++;
      try {
        await this.#recheck();
        const command = readCommand(payload);
        if (command.kind === "quit") return;
        await this.#handler!.handle(command);
      } catch (error) {
        if (error instanceof ClientGone || connection.signal.aborted) return;
        const reply = this.#errorOf(error);
        if (reply.fatal) throw reply;
        this.#packet.abandon();
        this.#deps.onError?.(reply.errno);
        writeError(this.#packet, reply);
      }
      this.#flush();
      await connection.drained();
    }
  }

  /** A key that was revoked, or a token that has expired, ends the sessions that it opened. */
  async #recheck(): Promise<void> {
    const state = this.#state!;
    const nowMs = this.#deps.clock.steadyMs();
    // A key may be revoked at any time and is found at once; a token only expires.
    const isDue = state.principal.method === "apikey" || nowMs - state.checkedMs >= mysqlLimits.credentialCheckMs;
    if (state.recheck === undefined || !isDue) return;
    try {
      state.principal = await state.recheck();
      state.checkedMs = nowMs;
    } catch (error) {
      throw refusedSignIn(error, state.user, this.host, "given");
    }
  }

  async #read(): Promise<Buffer | undefined> {
    const bytesMax = this.#state === undefined ? mysqlLimits.handshakePacketBytesMax : mysqlLimits.packetBytesMax;
    const message = await this.#reader.read(this.#packet.sequence, bytesMax);
    if (message === undefined) return undefined;
    this.#packet.sequence = message.sequence;
    return message.payload;
  }

  #flush(): void {
    if (this.#packet.length > 0) this.#connection.write(this.#packet.take());
  }

  #errorOf(error: unknown): MysqlError {
    return toMysqlError(error, (cause) =>
      this.#deps.log.error({ err: cause, connection: this.id }, "statement failed"),
    );
  }

  #sayLast(error: MysqlError, withState = true): void {
    if (!this.#connection.isOpen) return;
    this.#packet.abandon();
    this.#deps.onError?.(error.errno);
    writeError(this.#packet, error, withState);
    this.#connection.end(this.#packet.take());
  }
}

function shutdown(): MysqlError {
  return mysqlError("shutdown", "Server shutdown in progress");
}

/** A refused credential is given no reason, unless it has merely expired. */
function refusedSignIn(error: unknown, user: string, host: string, password: string): unknown {
  if (!(error instanceof EngineError)) return error;
  switch (error.reason) {
    case "unauthenticated":
      return accessDenied(user, host, password);
    case "token_expired":
    case "permission_denied":
      return mysqlError("accessDenied", `Access denied for user '${user}'@'${host}': ${error.message}`);
    default:
      return error;
  }
}
