import * as variantModule from "@jitl/quickjs-wasmfile-release-sync";
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from "quickjs-emscripten-core";
import {
  type Sandbox,
  type Sandboxes,
  SandboxFault,
  type SandboxLimits,
  type SandboxStep,
} from "../../port/sandbox.ts";

/** Its types say CommonJS, and it is loaded as a module. */
const variant = variantModule.default as unknown as QuickJSSyncVariant;

/** Of QuickJS's own stack, which a deep recursion fills. */
const stackBytesMax = 512 * 1024;

/** Realms of QuickJS in WebAssembly: slower than V8, and it can reach nothing outside of its memory. */
export class QuickJsSandboxes implements Sandboxes {
  #module: Promise<QuickJSWASMModule> | undefined;

  async create(script: string, { heapBytes, cpuMs }: SandboxLimits): Promise<Sandbox> {
    this.#module ??= newQuickJSWASMModuleFromVariant(variant);
    const runtime = (await this.#module).newRuntime();
    runtime.setMemoryLimit(heapBytes);
    runtime.setMaxStackSize(stackBytesMax);
    const context = runtime.newContext();
    const sandbox = new QuickJsSandbox(context);
    try {
      sandbox.run(script, cpuMs);
      return sandbox;
    } catch (error) {
      sandbox.dispose();
      throw error;
    }
  }
}

class QuickJsSandbox implements Sandbox {
  readonly #context: QuickJSContext;

  constructor(context: QuickJSContext) {
    this.#context = context;
  }

  async step(text: string, cpuMs: number): Promise<SandboxStep> {
    const context = this.#context;
    const startedMs = threadCpuMs();
    const input = context.newString(text);
    try {
      this.#bounded(cpuMs, () =>
        context.getProp(context.global, "step").consume((step) => context.callFunction(step, context.undefined, input)),
      );
    } finally {
      input.dispose();
    }
    const output = this.#bounded(cpuMs, () =>
      context.getProp(context.global, "output").consume((output) => context.callFunction(output, context.undefined)),
    );
    return { output, cpuMs: threadCpuMs() - startedMs };
  }

  dispose(): void {
    const { runtime } = this.#context;
    this.#context.dispose();
    runtime.dispose();
  }

  run(text: string, cpuMs: number): void {
    this.#bounded(cpuMs, () => this.#context.evalCode(text, "bundle.js"));
  }

  /** Runs it, and what it leaves to be done; returns what it gives as text. */
  #bounded(cpuMs: number, work: () => ReturnType<QuickJSContext["evalCode"]>): string {
    const context = this.#context;
    const { runtime } = context;
    const untilMs = threadCpuMs() + cpuMs;
    let isLate = false;
    runtime.setInterruptHandler(() => {
      isLate = threadCpuMs() > untilMs;
      return isLate;
    });
    const result = work();
    if (result.error !== undefined) throw this.#fault(result.error, isLate);
    const value = result.value.consume((handle) =>
      context.typeof(handle) === "string" ? context.getString(handle) : "",
    );
    const jobs = runtime.executePendingJobs();
    if (jobs.error !== undefined) throw this.#fault(jobs.error, isLate);
    // In an asynchronous function the interruption ends no call.
    if (isLate) throw new SandboxFault("time", "took too much processor time");
    return value;
  }

  #fault(handle: QuickJSHandle, isLate: boolean): SandboxFault {
    const error: unknown = this.#context.dump(handle);
    handle.dispose();
    if (isLate) return new SandboxFault("time", "took too much processor time");
    const { message = String(error) } = (error ?? {}) as Partial<Error>;
    if (/out of memory/.test(message)) return new SandboxFault("memory", "took too much memory");
    return new SandboxFault("script", message);
  }
}

/** It runs on the thread that calls it. */
function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
