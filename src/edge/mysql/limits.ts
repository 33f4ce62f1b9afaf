const KiB = 1024;
const MiB = 1024 * KiB;

/** The bounds of the MySQL edge. */
export const mysqlLimits = {
  /** One command, over all the packets it is split into; clients read it as `max_allowed_packet`. */
  packetBytesMax: 64 * MiB,
  /** One that brings neither a statement nor values. */
  commandBytesMax: 64 * KiB,
  /** The same before the client has signed in. */
  handshakePacketBytesMax: 64 * KiB,
  connectionsMax: 500,
  /** From the connection to the end of signing in. */
  handshakeMsMax: 10_000,
  /** A connection without a command is kept this long; clients read it as `wait_timeout`, in seconds. */
  idleMsMax: 28_800_000,
  /** An answer of which the client takes nothing for this long is cut off. */
  writeStallMsMax: 120_000,
  /** Encoded bytes after which the socket gets them and other sessions run. */
  flushBytes: 64 * KiB,
  /** How long encoding may hold the listener's thread at a time. */
  turnMs: 2,
  statementsMax: 1_000,
  /** What they take together, with their tokens. */
  statementBytesMax: 32 * MiB,
  /** Results that are left open for COM_STMT_FETCH, of one connection. */
  cursorsMax: 4,
  /** Bytes that COM_STMT_SEND_LONG_DATA may leave for one connection. */
  longDataBytesMax: 64 * MiB,
  /** Statements in one COM_QUERY. */
  multiStatementsMax: 100,
  /** A token is looked at again when a command comes and this has passed; an API key each time. */
  credentialCheckMs: 60_000,
  passwordBytesMax: 16 * KiB,
  /** User variables that clients have `SET`. */
  sessionVariablesMax: 200,
  variableCharactersMax: 10_000,
  /** All of one session's. */
  variablesCharactersMax: 64 * 1024,
  /** A SELECT of constants that is answered without the engine. */
  constantCharactersMax: 64 * 1024,
  messageCharactersMax: 512,
} as const;
