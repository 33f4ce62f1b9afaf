import type { DestinationStream } from "pino";

const levels: Readonly<Record<number, string>> = { 40: "warning: ", 50: "error: ", 60: "error: " };

/** Lines of the log as a person reads them: the time and the message, and of an error its stack. */
export class LogForPeople implements DestinationStream {
  readonly #out: { write(text: string): unknown };

  constructor(out: { write(text: string): unknown }) {
    this.#out = out;
  }

  write(line: string): void {
    const { time, level, msg, url, err } = JSON.parse(line) as Line;
    const clock = new Date(time).toISOString().slice(11, 19);
    this.#out.write(`${clock} ${levels[level] ?? ""}${msg ?? ""}\n`);
    if (url !== undefined && level < 40)
      this.#out.write(`${clock} the console is at ${url}/, the guides at ${url}/docs\n`);
    // What the message says needs no stack trace.
    if (err?.stack !== undefined && !(msg ?? "").startsWith("could not start")) this.#out.write(`${err.stack}\n`);
  }
}

interface Line {
  readonly time: number;
  readonly level: number;
  readonly msg?: string;
  /** Of the line that tells where the server listens. */
  readonly url?: string;
  readonly err?: { readonly stack?: string };
}
