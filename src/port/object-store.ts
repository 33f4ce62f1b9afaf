/** Large immutable things: index segments and columnar datasets. The manifest in the Store names them. */
export interface ObjectInfo {
  readonly path: string;
  readonly bytes: number;
}

/** Objects as files of this machine, for native code that writes and maps files. */
export interface ObjectFiles {
  /** What `write` leaves in the file whose name it is given becomes the object, durable when this resolves. */
  write<T>(path: string, write: (file: string) => Promise<T>): Promise<T>;
  /** The file is there until `read` is over; what it has opened stays readable. Undefined where the object is known to be missing. */
  read<T>(path: string, read: (file: string) => Promise<T>): Promise<T | undefined>;
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
  /** Where native code keeps a dataset: a folder of this machine, or an address; undefined where it can't. */
  datasetPlace(path: string): string | undefined;
  /** Undefined where objects are no files, not even copies of them. */
  readonly files: ObjectFiles | undefined;
}
