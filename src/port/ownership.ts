/** Who may write. One process owns a store at a time; losing the lease fences it. */
export interface Ownership extends AsyncDisposable {
  /** Resolves once this process is the owner, at once when it is; rejects when it can't become it. */
  acquire(signal: AbortSignal): Promise<void>;
  readonly isOwner: boolean;
  /** Grows with every change of owner. The names of a collection's objects carry it, so that a deposed owner overwrites none. */
  readonly epoch: number;
  /** Resolves when this process was the owner at some time after the call. Rejects where it is not: what it knows may be old. */
  confirm(): Promise<void>;
}
