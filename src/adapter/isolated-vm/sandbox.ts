import ivm from "isolated-vm";
import {
  type Sandbox,
  type Sandboxes,
  SandboxFault,
  type SandboxLimits,
  type SandboxStep,
  wallMsOf,
} from "../../port/sandbox.ts";
import { ProcessorTime, threadCpuMs } from "./processor-time.ts";

const MiB = 1024 * 1024;
/** The least that V8 takes. */
const heapMiBMin = 8;

/** Realms of V8 in isolates of their own. Some built-ins heed no limit: whoever needs that must be able to lose the process. */
export class IsolatedSandboxes implements Sandboxes {
  readonly #time = new ProcessorTime();

  async create(script: string, { heapBytes, cpuMs }: SandboxLimits): Promise<Sandbox> {
    const isolate = new ivm.Isolate({ memoryLimit: Math.max(heapMiBMin, Math.ceil(heapBytes / MiB)) });
    try {
      const context = await isolate.createContext();
      const compiled = await isolate.compileScript(script, { filename: "bundle.js" });
      await bounded(this.#time, isolate, cpuMs, (timeout) => compiled.run(context, { timeout }));
      const step = await context.global.get("step", { reference: true });
      const output = await context.global.get("output", { reference: true });
      return new IsolatedSandbox(this.#time, isolate, step, output);
    } catch (error) {
      if (!isolate.isDisposed) isolate.dispose();
      throw faultOf(error, false);
    }
  }
}

type Function = ivm.Reference<(text?: string) => string>;

class IsolatedSandbox implements Sandbox {
  readonly #time: ProcessorTime;
  readonly #isolate: ivm.Isolate;
  readonly #step: Function;
  readonly #output: Function;

  constructor(time: ProcessorTime, isolate: ivm.Isolate, step: Function, output: Function) {
    this.#time = time;
    this.#isolate = isolate;
    this.#step = step;
    this.#output = output;
  }

  step(text: string, cpuMs: number, briefMs?: number): SandboxStep | Promise<SandboxStep> {
    return briefMs === undefined ? this.#stepAside(text, cpuMs) : this.#stepHere(text, briefMs);
  }

  /**
   * A change of threads and back costs more than a short step: 88 µs of processor time against 30. A time-out costs 15 µs:
   * `output` runs nothing of the bundle's and has none.
   */
  #stepHere(text: string, timeout: number): SandboxStep {
    const startedMs = threadCpuMs();
    try {
      this.#step.applySync(undefined, [text], { timeout });
      const output = String(this.#output.applySync(undefined, []));
      return { output, cpuMs: threadCpuMs() - startedMs };
    } catch (error) {
      const fault = faultOf(error, this.#isolate.isDisposed);
      throw fault.kind === "time" ? new SandboxFault("slow", "took longer than a brief step may") : fault;
    }
  }

  async #stepAside(text: string, cpuMs: number): Promise<SandboxStep> {
    try {
      const { value, usedMs } = await bounded(this.#time, this.#isolate, cpuMs, async (timeout) => {
        await this.#step.apply(undefined, [text], { timeout });
        // A second call: the first one's microtasks run once it is over.
        return String(await this.#output.apply(undefined, [], { timeout }));
      });
      return { output: value, cpuMs: usedMs };
    } catch (error) {
      throw faultOf(error, this.#isolate.isDisposed);
    }
  }

  dispose(): void {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }
}

/** How long an isolate may go on that was told to end: some built-ins do not listen. */
const stuckMs = 500;

/** The time-outs of isolates are by the clock, and generous; this ends what has had its processor time before. */
async function bounded<T>(
  time: ProcessorTime,
  isolate: ivm.Isolate,
  cpuMs: number,
  work: (timeout: number) => Promise<T>,
): Promise<{ readonly value: T; readonly usedMs: number }> {
  const running = time.begin();
  const stuck = Promise.withResolvers<never>();
  const fault = (isStuck: boolean) => new SandboxFault("time", "took too much processor time", isStuck);
  let isLate = false;
  let timer: NodeJS.Timeout;
  const look = () => {
    const leftMs = cpuMs - running.usedMs();
    isLate = leftMs <= 0;
    // It can't be late sooner than in the time that it has left.
    if (!isLate) timer = setTimeout(look, Math.max(1, leftMs));
    else {
      timer = setTimeout(() => stuck.reject(fault(true)), stuckMs);
      if (!isolate.isDisposed) isolate.dispose();
    }
  };
  timer = setTimeout(look, Math.max(1, cpuMs));
  try {
    const value = await Promise.race([work(Math.ceil(wallMsOf(cpuMs))), stuck.promise]);
    return { value, usedMs: running.usedMs() };
  } catch (error) {
    throw isLate && !(error instanceof SandboxFault) ? fault(false) : error;
  } finally {
    clearTimeout(timer);
    running.end();
  }
}

function faultOf(error: unknown, isDisposed: boolean): SandboxFault {
  if (error instanceof SandboxFault) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/timed out/i.test(message)) return new SandboxFault("time", "took too much processor time");
  const isMemory = isDisposed || /memory limit|disposed|array buffer allocation/i.test(message);
  if (isMemory) return new SandboxFault("memory", "took too much memory");
  // Not the stack: it has the server's own paths.
  return new SandboxFault("script", message);
}
