const MiB = 1024 * 1024;

/** Every bound of the Lance adapter, named once with its unit. */
export const lanceLimits = {
  /** Rows and bytes that one commit writes; a larger change takes several. */
  commitRowsMax: 32_768,
  commitBytesMax: 64 * MiB,
  /** Rows of one Arrow batch within a commit. */
  batchRows: 8_192,
  deleteIdsMax: 10_000,
  /** By default lance takes up to 7 GB for these. Nothing is indexed or read here, so they can be small. */
  indexCacheBytes: 1 * MiB,
  metadataCacheBytes: 16 * MiB,
  /** Fewer fragments than this are never compacted; more than this always. */
  fragmentsMin: 16,
  fragmentsMax: 256,
  /** Versions that may be freed are freed when there are so many. */
  oldVersionsMax: 256,
  /** Versions are kept this much longer than asked. */
  cleanupSlackMs: 500,
} as const;
