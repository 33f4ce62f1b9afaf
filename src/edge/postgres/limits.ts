const KiB = 1024;
const MiB = 1024 * KiB;

/** Every bound of the Postgres wire besides those of its connections, with its unit. */
export const postgresLimits = {
  /** The first message, which has no type. */
  startupBytesMax: 10_000,
  /** A password, which may be a token. */
  passwordBytesMax: 64 * KiB,
  /** Any message of a signed-in client: as large as the body of a REST request. */
  messageBytesMax: 16 * MiB,
  /** Prepared statements of one session. */
  statementsMax: 1_000,
  /** What they take together, with their tokens. */
  statementBytesMax: 32 * MiB,
  /** Portals and cursors of one session, each of which may hold a running statement. */
  portalsMax: 100,
  /** What they take together: statements, parameters and the rows of those that scroll. */
  portalBytesMax: 64 * MiB,
  /** Portals of one session that have begun to give rows and have more: each holds a statement of the engine. */
  runningPortalsMax: 8,
  /** Parameters of one statement; their number has two bytes. */
  parametersMax: 65_535,
  /** What a cursor that scrolls keeps of its rows. */
  scrollBytesMax: 32 * MiB,
  /** Answer bytes that are put together before they are handed to the socket. */
  chunkBytes: 64 * KiB,
  /** A session's own settings, and the text of each. */
  settingsMax: 200,
  settingCharactersMax: 8_192,
  /** Statements of one simple query. */
  statementsPerQueryMax: 1_000,
  /** Answers that a session keeps, and the longest query of one. */
  knownAnswersMax: 16,
  knownQueryBytesMax: 256,
  /** Nested brackets in the text of an array. */
  arrayDepthMax: 6,
  /** Of an array, over all of its dimensions. */
  arrayItemsMax: 100_000,
} as const;
