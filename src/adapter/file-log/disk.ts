/** One segment's file, open for writing. */
export interface LogFile {
  /** Up to here every block is allocated: a write syncs its own pages and no metadata. */
  readonly size: number;
  /** Whole pages, from memory that lies in pieces. Durable once it resolves; after a rejection any of the pages may be there. */
  write(at: number, pieces: readonly Buffer[]): Promise<void>;
  /** Makes sure that no entry begins at this place, durably. */
  clear(at: number): Promise<void>;
  /** Fills the file with zeros up to this size. */
  grow(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** The folder of a commit log. What a file is called is durable once a promise of these resolves. */
export interface LogDisk {
  list(): string[];
  /** The whole file, which is durable from here on whatever an earlier process left in flight. */
  read(name: string): Buffer;
  open(name: string): LogFile;
  /** A new file of this size: the head, then zeros. It has its name only once it is whole. */
  create(name: string, head: Buffer, bytes: number): Promise<LogFile>;
  /** Replaces the head of a file and then its name. What lies behind the head stays. */
  reuse(from: string, name: string, head: Buffer): Promise<LogFile>;
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
}
