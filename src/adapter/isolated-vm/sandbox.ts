import ivm from "isolated-vm";
import { type Sandbox, type Sandboxes, SandboxFault, type SandboxLimits } from "../../port/sandbox.ts";

const MiB = 1024 * 1024;
/** The least that V8 takes. */
const heapMiBMin = 8;

/** Realms of V8 in isolates of their own. Some built-ins heed no limit: whoever needs that must be able to lose the process. */
export class IsolatedSandboxes implements Sandboxes {
  async create(script: string, { heapBytes, cpuMs }: SandboxLimits): Promise<Sandbox> {
    const isolate = new ivm.Isolate({ memoryLimit: Math.max(heapMiBMin, Math.ceil(heapBytes / MiB)) });
    try {
      const context = await isolate.createContext();
      const compiled = await isolate.compileScript(script, { filename: "bundle.js" });
      await compiled.run(context, { timeout: cpuMs });
      const step = await context.global.get("step", { reference: true });
      const output = await context.global.get("output", { reference: true });
      return new IsolatedSandbox(isolate, step, output);
    } catch (error) {
      if (!isolate.isDisposed) isolate.dispose();
      throw faultOf(error, false);
    }
  }
}

type Function = ivm.Reference<(text?: string) => string>;

class IsolatedSandbox implements Sandbox {
  readonly #isolate: ivm.Isolate;
  readonly #step: Function;
  readonly #output: Function;

  constructor(isolate: ivm.Isolate, step: Function, output: Function) {
    this.#isolate = isolate;
    this.#step = step;
    this.#output = output;
  }

  async step(text: string, cpuMs: number): Promise<string> {
    try {
      const timeout = Math.max(1, Math.ceil(cpuMs));
      await this.#step.apply(undefined, [text], { timeout });
      // A second call: the first one's microtasks run once it is over.
      return String(await this.#output.apply(undefined, [], { timeout }));
    } catch (error) {
      throw faultOf(error, this.#isolate.isDisposed);
    }
  }

  dispose(): void {
    if (!this.#isolate.isDisposed) this.#isolate.dispose();
  }
}

function faultOf(error: unknown, isDisposed: boolean): SandboxFault {
  const message = error instanceof Error ? error.message : String(error);
  if (/timed out/i.test(message)) return new SandboxFault("time", "took too much processor time");
  const isMemory = isDisposed || /memory limit|disposed|array buffer allocation/i.test(message);
  if (isMemory) return new SandboxFault("memory", "took too much memory");
  return new SandboxFault("script", error instanceof Error ? (error.stack ?? message) : message);
}
