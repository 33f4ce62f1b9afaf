import { loadOnce } from "../front/load-once.ts";
import type { AnyNodeResponse, NodeRequest } from "./node.ts";
import { isRpcTarget } from "./paths.ts";
import type { RpcHandler } from "./server.ts";

/** The RPC edge, whose code is loaded with the first call: it and its libraries are a quarter of what a start would load. */
export class LateRpcHandler {
  readonly #load: () => Promise<RpcHandler>;
  readonly #onError: (error: unknown) => void;
  #handler: RpcHandler | undefined;

  constructor(load: () => Promise<RpcHandler>, onError: (error: unknown) => void) {
    this.#load = loadOnce(load);
    this.#onError = onError;
  }

  handles(target: string): boolean {
    return isRpcTarget(target);
  }

  handle(request: NodeRequest, response: AnyNodeResponse): void {
    if (this.#handler !== undefined) this.#handler.handle(request, response);
    else void this.#handleLater(request, response);
  }

  async #handleLater(request: NodeRequest, response: AnyNodeResponse): Promise<void> {
    // A caller that leaves meanwhile is no error of ours; without a listener it would end the process.
    request.on("error", ignore);
    response.on("error", ignore);
    let isGone = false;
    response.once("close", () => {
      isGone = true;
    });
    try {
      this.#handler = await this.#load();
    } catch (error) {
      this.#onError(error);
      response.destroy();
      return;
    }
    if (!isGone) this.#handler.handle(request, response);
  }

  close(): void {
    this.#handler?.close();
  }
}

function ignore(): void {}
