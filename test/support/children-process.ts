import { setTimeout as sleep } from "node:timers/promises";
import { serveParent } from "../../src/adapter/children/serve-parent.ts";
import { LmdbStore } from "../../src/adapter/lmdb/store.ts";
import { EngineError } from "../../src/engine/errors.ts";
import type { ChildParent } from "../../src/port/children.ts";

export interface Asked {
  readonly kind:
    | "echo"
    | "ask"
    | "throw"
    | "spin"
    | "crash"
    | "grow"
    | "exit"
    | "pid"
    | "data"
    | "environment"
    | "heap"
    | "map";
  readonly value?: unknown;
}

/** A child that does what a test asks for, also what no child should. */
serveParent(async (data: unknown, parent: ChildParent) => ({
  async handle(message: unknown) {
    const { kind, value } = message as Asked;
    switch (kind) {
      case "echo":
        return value;
      case "ask":
        return parent.request(value);
      case "throw":
        throw new EngineError("not_found", "there is none", { details: { name: value } });
      case "spin":
        for (;;);
      case "crash":
        process.kill(process.pid, "SIGSEGV");
        return new Promise(() => {});
      case "exit":
        process.exit(3);
        return undefined;
      case "grow": {
        const kept: Buffer[] = [];
        for (;;) {
          kept.push(Buffer.alloc(8 * 1024 * 1024, 1));
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      }
      case "heap": {
        const kept: unknown[] = [];
        for (;;) kept.push(Array.from({ length: 1000 }, (_, i) => ({ i })));
      }
      case "map": {
        const store = new LmdbStore(value as string, { shared: true });
        let bytes = 0;
        for (const { value } of store.range({})) bytes += value.length;
        await sleep(500);
        await store.close();
        return bytes;
      }
      case "pid":
        return process.pid;
      case "data":
        return data;
      case "environment":
        return Object.keys(process.env);
    }
  },
}));
