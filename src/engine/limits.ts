/** Bounds that clients see or several parts share, named once with their unit. What bounds one part alone stands there. */
const KiB = 1024;
const MiB = 1024 * KiB;
const hourMs = 3_600_000;

export const limits = {
  bodyBytesMax: 16 * MiB,
  /** Bytes that all edges hold at once of bodies and messages, and of what sessions keep; more are refused. */
  heldBytesMax: 256 * MiB,
  /** What answers to queries may be in memory until their readers have taken them. */
  answerBytesMax: 256 * MiB,
  /** Of these, what outlives its request: prepared statements, parameters and rows of cursors. */
  keptBytesMax: 128 * MiB,
  /** Records of one append, and entries of any other list of a body: each costs far more than its bytes when it is empty. */
  requestRecordsMax: 250_000,
  /** Members of a body, whatever they are. */
  bodyMembersMax: 1_000,
  fetchBytesDefault: 1 * MiB,
  fetchBytesMax: 16 * MiB,
  fetchWaitMsMax: 60_000,
  tokenWaitMsMax: 10_000,
  tokenEntriesMax: 10_000,
  partitionsDefault: 1,
  partitionsMax: 10_000,
  nameLengthMax: 128,
  idempotencyKeyLengthMax: 255,
  idempotencyWindowMs: 24 * hourMs,
  /** Bytes that may wait for the log's sync before appends are refused with `unavailable`. */
  commitQueueBytesMax: 64 * MiB,
  /** One group commit takes at most this much of the queue. */
  commitGroupBytesMax: 32 * MiB,
  /** With so much waiting a group commit begins at once, and takes three times that at most while commits are quick. */
  commitReadyBytes: 64 * KiB,
  /** So does one with so many changes waiting, while commits are quick. */
  commitReadyChanges: 16,
  /** A commit that takes longer is answered with `unavailable`, its outcome not being known yet. */
  commitOutcomeMsMax: 10_000,
  /** Partition states kept in memory; beyond it a tenth of them is given up, and read again from the store when needed. */
  partitionStatesMax: 100_000,
  /** Batches one background step of the trimmer frees at most. */
  trimStepBatchesMax: 256,
  /** Documents of one scroll page, of one get and of one write. */
  scrollLimitDefault: 100,
  scrollLimitMax: 10_000,
  getIdsMax: 10_000,
  /** Stored bytes of all documents of one get: they are in memory until the answer is sent. */
  getBytesMax: 64 * MiB,
  /** Stored bytes of one document. A body bounds what is written at once; patches could make it grow without end. */
  documentBytesMax: 32 * MiB,
  writeOpsMax: 10_000,
  filterWriteDocumentsMax: 100_000,
  filterWriteDocumentsDefault: 10_000,
  /** What one document of a filtered write is taken to add to the log's queue. */
  filterWriteOpBytes: 256,
  /** Stored bytes of one page of documents; it ends there, with a cursor. */
  pageBytesMax: 16 * MiB,
  aliasActionsMax: 1_000,
  pageSizeDefault: 100,
  pageSizeMax: 1_000,
  /** Expired keys one background step deletes at most. */
  expireStepKeysMax: 1_000,
  /**
   * Remembered events that make a segment of pages on the disk: a sixteenth less than a power of two, the size of their
   * table, so that what still comes until there is another one has room in it.
   */
  dedupSegmentKeysMax: 245_760,
  /** Remembered events in memory that wait to become a segment; beyond it events are refused with `unavailable`. */
  dedupTableKeysMax: 2_097_152,
  /** Pages one background step writes when a segment is made. */
  dedupStepPagesMax: 64,
  /**
   * Memory for the segments' filters, 2.25 to 4.5 bytes a remembered event, reserved for eight segments at a time, a third of it for
   * 32; those without one are read at each look.
   */
  dedupFilterBytesMax: 128 * MiB,
  /** Extension attributes of one CloudEvent; HTTP clients read no more headers than about this. */
  eventExtensionsMax: 1_000,
  /** Nesting of a JSON event. A body of brackets alone would otherwise hold the listener's thread for seconds. */
  eventJsonDepthMax: 1_000,
  /** A JSON event or batch up to this size is parsed in milliseconds however deep it nests. */
  eventJsonSmallBytes: 64 * KiB,
} as const;

export const integerMax = Number.MAX_SAFE_INTEGER;
