import { limits } from "../../engine/limits.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

/** The bounds of the Flight edge. */
export const flightLimits = {
  /** One message from a client, after decompression. */
  readBytesMax: limits.bodyBytesMax,
  /** One message to a client: only a row that is alone in its message comes near. */
  writeBytesMax: 64 * MiB,
  /** Rows are sent in messages of about this size; some clients take no more than 4 MiB. */
  batchBytesMax: 2 * MiB,
  /** Of the token that an answer carries in its head, for which some clients have 8 KiB. */
  tokenCharactersMax: 4 * KiB,
  queryCharactersMax: 1024 * KiB,
  /** Prepared statements of all callers and of one; beyond, the least recently used are forgotten. */
  preparedMax: 20_000,
  preparedOfOneMax: 5_000,
  /** What they hold with their parameters. */
  preparedBytesMax: 64 * MiB,
  preparedBytesOfOneMax: 32 * MiB,
  /** A prepared statement that nobody has used for this long is forgotten. */
  preparedIdleMs: 3_600_000,
  /** Rows of parameters for one prepared statement; it is run with each. */
  parameterRowsMax: 1_000,
  /** Values in these rows, the items of lists included. */
  parameterValuesMax: 1_000_000,
  /** Bytes of all parameters of one statement. */
  parameterBytesMax: limits.bodyBytesMax,
  /** Namespaces whose tables one call lists. */
  listedNamespacesMax: 1_000,
} as const;
