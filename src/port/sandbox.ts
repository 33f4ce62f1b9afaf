/**
 * A place for code of strangers: a JavaScript realm with nothing in it but the language, a heap of its own and a bound on its time. Its script
 * leaves a global function `step` that takes text and returns text.
 */
export interface Sandbox {
  /**
   * Calls `step`, lets every microtask run that follows, and then gives what the script's global `output` returns. With
   * `briefMs` it may hold the caller's thread for so long; a step that takes longer is a `SandboxFault` of kind `slow`.
   */
  step(text: string, cpuMs: number, briefMs?: number): SandboxStep | Promise<SandboxStep>;
  dispose(): void;
}

export interface SandboxStep {
  readonly output: string;
  /** Processor time that it took. */
  readonly cpuMs: number;
}

export interface Sandboxes {
  /** Rejects with a `SandboxFault` where the script can't be run. */
  create(script: string, limits: SandboxLimits): Promise<Sandbox>;
}

export interface SandboxLimits {
  readonly heapBytes: number;
  /** Of the script itself. */
  readonly cpuMs: number;
}

/** A busy machine gives a thread a fifth of a core at times, and may let it wait before it starts. */
const wallShare = 5;
const startMs = 500;

/** How long work of so much processor time may take by the clock. */
export function wallMsOf(cpuMs: number): number {
  return wallShare * cpuMs + startMs;
}

/** `time`, `memory` and `slow`: a limit was passed, and the sandbox is of no more use. `script`: the script threw. */
export class SandboxFault extends Error {
  readonly kind: "time" | "memory" | "slow" | "script";
  /** What it runs can't be stopped: its process has to end. */
  readonly isStuck: boolean;

  constructor(kind: SandboxFault["kind"], message: string, isStuck = false) {
    super(message);
    this.name = "SandboxFault";
    this.kind = kind;
    this.isStuck = isStuck;
  }
}
