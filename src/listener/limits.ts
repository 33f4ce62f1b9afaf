const KiB = 1024;
const MiB = 1024 * KiB;

/** Every bound of the listener, with its unit. Deadlines are enforced by a sweep, so one passes up to a sweep late. */
export interface ListenerLimits {
  /** Connections that are served; one more is refused with an answer, and counted. */
  readonly connectionsMax: number;
  /** Connections that are being refused with an answer; one more is closed without one. */
  readonly refusalsMax: number;
  /** Sockets that listen on the port, of which each takes one connection in a turn of the event loop. */
  readonly acceptorsMax: number;
  /** Connections the operating system queues before we accept them. */
  readonly backlogMax: number;
  /** From the connection to its first bytes, and for the TLS handshake. */
  readonly sniffTimeoutMs: number;
  /** From a request's first byte to the end of its headers; on HTTP/2 also for the preface and first SETTINGS. */
  readonly headersTimeoutMs: number;
  /** From the end of the headers to the end of the body, unless the answer has begun by then. */
  readonly requestTimeoutMs: number;
  /** A connection without a request is kept this long. */
  readonly idleTimeoutMs: number;
  /** Data is waiting and the peer has taken none of it for this long. */
  readonly writeStallTimeoutMs: number;
  /** A connection that was asked to close has this long to read its last bytes. */
  readonly lingerMs: number;
  /** How often deadlines are looked at. */
  readonly sweepIntervalMs: number;
  /** TCP probes find peers that vanished, which matters to a connection that waits for hours. */
  readonly tcpKeepAliveMs: number;
  /** How often the certificate's files are looked at. */
  readonly certificateCheckMs: number;
  /** Request line and headers together. */
  readonly headerBytesMax: number;
  readonly headersMax: number;
  /** Requests of all connections that are in flight at once; one more is answered 503. */
  readonly requestsMax: number;
  /** With fewer connections and requests in flight than this, a turn of the event loop has no bound. */
  readonly turnBoundFrom: number;
  /** Requests are begun for this long in one turn; the others wait for the next, so that new connections are accepted. */
  readonly turnMs: number;
  /** Requests that wait for the next turn, and the bytes held for them; beyond it they are begun at once. */
  readonly turnWaitingMax: number;
  readonly turnWaitingBytesMax: number;
  /** Requests of one HTTP/1 connection that are in flight at once (pipelining). */
  readonly pipelinedMax: number;
  /** How many of these the handler works on; the others wait, or a peer that does not read would fill the memory. */
  readonly pipelinedHandledMax: number;
  /** Requests of one HTTP/2 connection that are in flight at once. */
  readonly http2StreamsMax: number;
  /** Received bytes of one HTTP/2 request that wait for the handler. */
  readonly http2StreamWindowBytes: number;
  /** The same for a whole HTTP/2 connection. */
  readonly http2SessionWindowBytes: number;
  /** Above this an HTTP/2 connection gets no new requests until some of what it holds was sent. */
  readonly http2SessionMemoryBytesMax: number;
  /** Cancelled requests of one HTTP/2 connection: this many at once, and so many a second. */
  readonly http2ResetsBurstMax: number;
  readonly http2ResetsPerSecondMax: number;
  /** Clients that probe the bandwidth send one PING a round trip, so this is a bound on floods and no more. */
  readonly http2PingsPerSecondMax: number;
  readonly http2SettingsPerSecondMax: number;
  readonly http2InvalidFramesMax: number;
  /** Requests refused for `http2StreamsMax` before the connection is closed. */
  readonly http2RejectedStreamsMax: number;
}

export const listenerLimits: ListenerLimits = {
  connectionsMax: 20_000,
  refusalsMax: 100,
  acceptorsMax: 256,
  backlogMax: 4_096,
  sniffTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  // The largest body, 16 MiB, arrives in time at 2.3 Mbit/s.
  requestTimeoutMs: 60_000,
  // Longer than the 60 s after which common proxies drop an idle connection themselves.
  idleTimeoutMs: 75_000,
  writeStallTimeoutMs: 120_000,
  lingerMs: 1_000,
  sweepIntervalMs: 1_000,
  tcpKeepAliveMs: 60_000,
  certificateCheckMs: 10_000,
  headerBytesMax: 32 * KiB,
  headersMax: 256,
  // An idle long poll takes about 27 KiB.
  requestsMax: 50_000,
  turnBoundFrom: 128,
  turnMs: 50,
  turnWaitingMax: 20_000,
  turnWaitingBytesMax: 64 * MiB,
  pipelinedMax: 256,
  pipelinedHandledMax: 4,
  http2StreamsMax: 256,
  http2StreamWindowBytes: 1 * MiB,
  http2SessionWindowBytes: 4 * MiB,
  // Sixteen of the largest answers; a proxy may carry many users over one connection.
  http2SessionMemoryBytesMax: 256 * MiB,
  http2ResetsBurstMax: 1_000,
  http2ResetsPerSecondMax: 100,
  http2PingsPerSecondMax: 10_000,
  http2SettingsPerSecondMax: 100,
  http2InvalidFramesMax: 100,
  http2RejectedStreamsMax: 100,
};
