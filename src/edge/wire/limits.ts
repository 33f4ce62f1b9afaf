const MiB = 1024 * 1024;

/** Every bound of a TCP wire, with its unit. Deadlines are enforced by a sweep, so one passes up to a sweep late. */
export interface WireLimits {
  /** Connections that are served; one more is told that there are too many. */
  readonly connectionsMax: number;
  /** Connections that are being told so; one more is closed without a word. */
  readonly refusalsMax: number;
  /** Connections the operating system queues before we accept them. */
  readonly backlogMax: number;
  /** From the connection to the end of its sign-in, TLS handshake included. */
  readonly handshakeTimeoutMs: number;
  /** A signed-in connection that asks nothing is kept this long. */
  readonly idleTimeoutMs: number;
  /** From a message's first byte to its last. */
  readonly messageTimeoutMs: number;
  /** Data is waiting and the peer has taken none of it for this long. */
  readonly writeStallTimeoutMs: number;
  /** A connection that was told to go is given this long to take its last bytes. */
  readonly lingerMs: number;
  /** How often deadlines are looked at. */
  readonly sweepIntervalMs: number;
  /** TCP probes find peers that vanished. */
  readonly tcpKeepAliveMs: number;
  /** Received bytes that wait to be taken; above, the peer is not read from. A larger message is let in when asked for. */
  readonly inboundBytesMax: number;
  /** The same of a peer that has not signed in. */
  readonly unknownBytesMax: number;
}

export const wireLimits: WireLimits = {
  connectionsMax: 500,
  refusalsMax: 100,
  backlogMax: 1_024,
  handshakeTimeoutMs: 30_000,
  // Pools keep connections for the night; what vanished is found by the TCP probes.
  idleTimeoutMs: 8 * 3_600_000,
  messageTimeoutMs: 60_000,
  writeStallTimeoutMs: 120_000,
  lingerMs: 1_000,
  sweepIntervalMs: 1_000,
  tcpKeepAliveMs: 60_000,
  inboundBytesMax: 1 * MiB,
  unknownBytesMax: 64 * 1024,
};
