/** What client and server can do; each side names its bits, and what both have named is in force. */
export const capability = {
  longPassword: 1 << 0,
  foundRows: 1 << 1,
  longFlag: 1 << 2,
  connectWithDb: 1 << 3,
  noSchema: 1 << 4,
  ignoreSpace: 1 << 8,
  protocol41: 1 << 9,
  interactive: 1 << 10,
  ssl: 1 << 11,
  transactions: 1 << 13,
  secureConnection: 1 << 15,
  multiStatements: 1 << 16,
  multiResults: 1 << 17,
  preparedMultiResults: 1 << 18,
  pluginAuth: 1 << 19,
  connectAttributes: 1 << 20,
  pluginAuthLengthEncoded: 1 << 21,
  deprecateEof: 1 << 24,
} as const;

/** What this server offers; TLS only where it has a certificate. */
export function offered(tls: boolean): number {
  const { ssl, ...others } = capability;
  return Object.values(others).reduce((bits, bit) => bits | bit, tls ? ssl : 0) >>> 0;
}

export function has(bits: number, bit: number): boolean {
  return (bits & bit) !== 0;
}

/** The state of a session as every OK and EOF packet tells it. */
export const status = {
  inTransaction: 0x0001,
  autocommit: 0x0002,
  moreResults: 0x0008,
  cursorExists: 0x0040,
  lastRowSent: 0x0080,
  noBackslashEscapes: 0x0200,
} as const;
