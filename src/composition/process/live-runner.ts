import { serveParent } from "../../adapter/children/serve-parent.ts";
import { IsolatedSandboxes } from "../../adapter/isolated-vm/sandbox.ts";
import { QuickJsSandboxes } from "../../adapter/quickjs/sandbox.ts";
import { RunnerService } from "../../engine/live/function/runner-service.ts";

export interface RunnerData {
  readonly engine: "v8" | "quickjs";
}

/** The process that runs live functions. */
serveParent(async (data, parent) => {
  const { engine } = data as RunnerData;
  const sandboxes = engine === "quickjs" ? new QuickJsSandboxes() : new IsolatedSandboxes();
  return new RunnerService(sandboxes, parent);
});
