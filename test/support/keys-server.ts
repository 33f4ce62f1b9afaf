import { rm } from "node:fs/promises";
import { after, before } from "node:test";
import { ask } from "./http.ts";
import { ServerProcess, temporaryFolder } from "./process.ts";

/** The key of its admin. */
export const boss = "b".repeat(40);
const env = { SERVICE_AUTH_MODE: "apikey", SERVICE_API_KEYS: `boss:admin:${boss}` };

/** An entry of the audit log. */
export interface Entry {
  readonly sequence: number;
  readonly action: string;
  readonly principal: string | null;
  readonly namespace: string | null;
  readonly target: string | null;
  readonly outcome: string;
}

export const as = (key: string) => ({ authorization: `Bearer ${key}` });

/** A server of the test file's own that asks for API keys, with one of its admin. */
export function keysServer() {
  let dataDir: string;
  let server: ServerProcess;
  before(async () => {
    dataDir = await temporaryFolder();
    server = await ServerProcess.start({ dataDir, env });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true });
  });
  /** As the admin, unless another key is given. */
  const call = (path: string, options: Parameters<typeof ask>[1] = {}, key = boss) =>
    ask(`${server.url}/v1/${path}`, { ...options, headers: { ...as(key), ...options.headers } });
  return {
    server: () => server,
    call,
    audited: async (query = ""): Promise<readonly Entry[]> => (await call(`instance/audit${query}`)).json.entries,
    /** Ends it and starts it again on the same data. */
    async restart(): Promise<void> {
      await server.stop();
      server = await ServerProcess.start({ dataDir, env });
    },
  };
}
