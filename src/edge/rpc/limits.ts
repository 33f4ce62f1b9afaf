import { limits } from "../../engine/limits.ts";

/** The bounds of the RPC edge. */
export const rpcLimits = {
  /** One message, after decompression. */
  readBytesMax: limits.bodyBytesMax,
  /** A call that anybody may make, its envelope included. */
  openBytesMax: 8 * 1024,
  /** Messages in one, at all levels, and fields that are not known; objects in one of JSON. */
  messagePartsMax: 1_000_000,
  jsonObjectsMax: 500_000,
  messageDepthMax: 100,
  writeBytesMax: 64 * 1024 * 1024,
  /** What is read and dropped of a call that has been answered already. */
  dropBytesMax: 4 * limits.bodyBytesMax,
  /** Smaller replies cost more to compress than they save. */
  compressBytesMin: 1024,
  /** A caller's deadline is cut to this; it also bounds what the timer can hold. */
  timeoutMsMax: 24 * 3_600_000,
  /** The handler's own clock is given this long to answer before a call that is still being read is cut off. */
  timeoutGraceMs: 50,
  /** Streams of Health.Watch that are open at a time. */
  healthWatchersMax: 10_000,
  keySetAgeSMax: 300,
  houseConnectMsMax: 5_000,
  /** How long the front end may take to begin its answer. */
  houseFirstByteMsMax: 60_000,
  /** How long a proxied stream may stay silent both ways. */
  houseIdleMsMax: 300_000,
  houseRequestsMax: 1_000,
} as const;
