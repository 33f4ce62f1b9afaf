import { pino } from "pino";
import { IdleCollector } from "../adapter/threads/idle-collector.ts";
import type { ClusterNode } from "../composition/cluster/node.ts";
import type { ServerConfig } from "../composition/config/config.ts";
import { makeDataFolder } from "../composition/data-folder.ts";
import type { Server } from "../composition/server.ts";
import { LogForPeople } from "./log-for-people.ts";

/** Runs the server until it is told to stop. Resolves with the exit code. */
export async function runServe(config: ServerConfig): Promise<number> {
  const options = {
    level: config.logLevel,
    base: null,
    redact: { paths: ["req.headers.authorization", "*.authorization", "*.password", "*.token"], censor: "[redacted]" },
  };
  const isForPeople = config.mode === "development" && process.stdout.isTTY;
  const log = isForPeople ? pino(options, new LogForPeople(process.stdout)) : pino(options);
  const stopping = signalled();
  let server: Server | ClusterNode;
  try {
    // Before the server is loaded, which takes longer than all else: an unusable folder is reported at once.
    makeDataFolder(config.dataDir);
    const onFatal = (error: Error) => {
      log.fatal({ err: error }, `ending, to be started again: ${error.message}`);
      // Nothing could be answered any more but errors, and a new process can go on with what is on the disk.
      process.exit(1);
    };
    if (config.clusterLog === undefined) {
      const { Server } = await import("../composition/server.ts");
      server = await Server.start(config, log, onFatal);
    } else {
      const { ClusterNode } = await import("../composition/cluster/node.ts");
      server = await ClusterNode.start(config, log, onFatal);
    }
  } catch (error) {
    log.fatal({ err: error }, `could not start: ${explained(error)}`);
    return 1;
  }
  const { url, postgres, mysql, live } = server;
  log.info({ url, postgres, mysql, live, data: config.dataDir, mode: config.mode }, `listening on ${url}`);
  const garbage = new IdleCollector();
  garbage.start();
  const signal = await stopping;
  garbage.stop();
  log.info({ signal }, "draining");
  await server.stop();
  log.info("stopped");
  return 0;
}

/** What to do about it, where the system's words do not tell. */
function explained(error: unknown): string {
  const { message, code, address, port } = error as Error & { code?: string; address?: string; port?: number };
  if (code === "EADDRINUSE") {
    return `${address}:${port} is in use: stop what listens there, or choose another address (--listen, --postgres-listen, --mysql-listen, --live-listen)`;
  }
  if (code === "EACCES" && port !== undefined) return `${address}:${port} may not be used: choose a port above 1023`;
  return message;
}

/** The first SIGTERM or SIGINT; a repeated one changes nothing. */
function signalled(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    process.on("SIGTERM", resolve);
    process.on("SIGINT", resolve);
  });
}
