/** A command line that can't be understood, as against a command that failed. */
export class UsageError extends Error {}

/** A command that failed on this side: a file, a checksum, a row. */
export class CommandFailure extends Error {
  readonly reason: string;
  readonly hint: string | undefined;

  constructor(reason: string, message: string, hint?: string) {
    super(message);
    this.reason = reason;
    this.hint = hint;
  }
}
