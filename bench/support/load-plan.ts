export interface LoadPlan {
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  readonly warmUpMs: number;
  /** Requests to send in turn; the connections start at places evenly spread over them, so that all are sent. */
  readonly requests: readonly LoadRequest[];
}

export interface LoadRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
}

/** Stands in a body for 16 characters that are new each time it is sent. */
export const fresh = "@fresh-16-chars@";
/** The same for a number of 15 digits. */
export const freshNumber = 987_650_000_056_789;

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly bytes: number;
}
