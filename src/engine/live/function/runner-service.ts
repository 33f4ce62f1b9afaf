import type { ChildParent, ChildService } from "../../../port/children.ts";
import { type Sandbox, type Sandboxes, SandboxFault } from "../../../port/sandbox.ts";
import { sandboxScript } from "./harness.ts";
import type { RunAnswer, RunRequest } from "./messages.ts";

/** Idle sandboxes that are kept, over all bundles. */
const idleMax = 8;
/** Runs after which a sandbox is replaced, since its heap grows. */
const runsMax = 10_000;

/** Counted as processor time of a run each time it asks for something: the server works for it too. */
const roundTripMs = 0.05;

/** How long a step that is thought to be short may hold the process, and with it other runs. */
const briefMs = 20;

interface PooledSandbox {
  readonly bundle: string;
  readonly sandbox: Sandbox;
  runs: number;
}

/** Runs functions in sandboxes, each for one run at a time, in a process of its own. */
export class RunnerService implements ChildService {
  readonly #sandboxes: Sandboxes;
  readonly #parent: ChildParent;
  #idle: PooledSandbox[] = [];

  constructor(sandboxes: Sandboxes, parent: ChildParent) {
    this.#sandboxes = sandboxes;
    this.#parent = parent;
  }

  async handle(message: unknown): Promise<RunAnswer> {
    const request = message as RunRequest;
    // The first of a new process, sent to wait for its start.
    if (request.run === 0) return { end: "" };
    let pooled: PooledSandbox | undefined;
    try {
      pooled = await this.#take(request);
      const end = await this.#run(pooled.sandbox, request);
      this.#giveBack(pooled);
      return { end };
    } catch (error) {
      pooled?.sandbox.dispose();
      if (!(error instanceof SandboxFault)) throw error;
      const { kind, message, isStuck } = error;
      return { end: "", fault: { kind, message, isStuck } };
    }
  }

  async #run(sandbox: Sandbox, { run, request, cpuMs, isBrief }: RunRequest): Promise<string> {
    let leftMs = cpuMs;
    const step = async (text: string) => {
      const done = await sandbox.step(text, leftMs, isBrief ? briefMs : undefined);
      leftMs -= done.cpuMs;
      if (leftMs <= 0) throw new SandboxFault("time", "took too much processor time");
      return done.output;
    };
    let output = await step(`{"request":${request}}`);
    while (output.startsWith('{"ops":')) {
      const ops = output.slice('{"ops":'.length, -1);
      leftMs -= roundTripMs;
      const answers = (await this.#parent.request({ kind: "ops", run, ops })) as string;
      output = await step(`{"answers":${answers}}`);
    }
    return output;
  }

  async #take({ bundle, heapBytes, cpuMs }: RunRequest): Promise<PooledSandbox> {
    // The last one used: its code and data are in the processor's caches.
    const at = this.#idle.findLastIndex((each) => each.bundle === bundle);
    if (at >= 0) return this.#idle.splice(at, 1)[0]!;
    const code = (await this.#parent.request({ kind: "bundle", bundle })) as string;
    const sandbox = await this.#sandboxes.create(sandboxScript(code), { heapBytes, cpuMs });
    return { bundle, sandbox, runs: 0 };
  }

  #giveBack(pooled: PooledSandbox): void {
    if (++pooled.runs >= runsMax) {
      pooled.sandbox.dispose();
      return;
    }
    this.#idle.push(pooled);
    if (this.#idle.length > idleMax) this.#idle.shift()!.sandbox.dispose();
  }
}
