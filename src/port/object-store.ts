/** Large immutable things: index segments and columnar datasets. The manifest in the Store names them. */
export interface ObjectInfo {
  readonly path: string;
  readonly bytes: number;
}

export interface ObjectStore {
  /** Writes a whole object, durable when it resolves. A path is written once; writing it again replaces it whole. */
  put(path: string, data: Uint8Array): Promise<void>;
  /** A whole object, in memory that `allocate` gives where it is there. */
  get(path: string, allocate?: (bytes: number) => Uint8Array): Promise<Uint8Array | undefined>;
  /** An object's data piece by piece, for one that is too large to be held. Throws where it is missing. */
  pieces(path: string): AsyncIterable<Uint8Array>;
  list(prefix: string): Promise<ObjectInfo[]>;
  /** Deletes an object, or a whole folder when the path ends with `/`. Deleting what is missing is no error. */
  delete(path: string): Promise<void>;
  /** The address under which an outside reader finds an object or folder. */
  uri(path: string): string;
  /** A path on this machine, for native code that maps files; undefined where objects live elsewhere. */
  localPath(path: string): string | undefined;
}
