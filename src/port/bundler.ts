export interface SourceModule {
  /** Without the ending. */
  readonly path: string;
  readonly source: string;
  /** As JSON; empty: none. */
  readonly sourceMap: string;
}

export interface Bundle {
  /** The text of a function that evaluates all modules anew and returns them by their paths. */
  readonly code: string;
  /** From `code` to the sources, as JSON. */
  readonly map: string;
}

/** Makes one script of modules. They see each other and `native-engine/live`, and nothing of the machine. */
export interface Bundler {
  /** Rejects with a `BundleFault` where the modules are wrong. */
  bundle(modules: readonly SourceModule[]): Promise<Bundle>;
  close(): Promise<void>;
}

export class BundleFault extends Error {
  /** Of the module at fault; empty where there is none. */
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.name = "BundleFault";
    this.path = path;
  }
}
