/** What runs now in this process. */
export interface Running {
  /** Its processor time so far, in milliseconds. */
  usedMs(): number;
  end(): void;
}

interface Span {
  readonly startedMs: number;
  /** How many ran beside it at once, itself counted. */
  most: number;
}

/**
 * Processor time of work that is done on threads of this process. The system tells it for the process alone; works that run at once have
 * equal shares of it, since each computes all the time and threads of a process are treated alike.
 */
export class ProcessorTime {
  readonly #running = new Set<Span>();
  readonly #processMs: () => number;

  constructor(processMs = processCpuMs) {
    this.#processMs = processMs;
  }

  begin(): Running {
    const span: Span = { startedMs: this.#processMs(), most: 1 };
    this.#running.add(span);
    for (const each of this.#running) each.most = Math.max(each.most, this.#running.size);
    return {
      usedMs: () => (this.#processMs() - span.startedMs) / span.most,
      end: () => void this.#running.delete(span),
    };
  }
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
