import { pino } from "pino";
import type { ServerConfig } from "../config.ts";
import { Server } from "../server.ts";

/** Runs the server until it is told to stop. Resolves with the exit code. */
export async function runServe(config: ServerConfig): Promise<number> {
  const log = pino({
    level: config.logLevel,
    base: null,
    redact: { paths: ["req.headers.authorization", "*.authorization", "*.password", "*.token"], censor: "[redacted]" },
  });
  const stopping = signalled();
  let server: Server;
  try {
    server = await Server.start(config, log, (error) => {
      log.fatal({ err: error }, `ending, to be started again: ${error.message}`);
      // Nothing could be answered any more but errors, and a new process can go on with what is on the disk.
      process.exit(1);
    });
  } catch (error) {
    log.fatal({ err: error }, `could not start: ${(error as Error).message}`);
    return 1;
  }
  const { url, postgres, mysql } = server;
  log.info({ url, postgres, mysql, data: config.dataDir, mode: config.mode }, `listening on ${url}`);
  const signal = await stopping;
  log.info({ signal }, "draining");
  await server.stop();
  log.info("stopped");
  return 0;
}

/** The first SIGTERM or SIGINT; a repeated one changes nothing. */
function signalled(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    process.on("SIGTERM", resolve);
    process.on("SIGINT", resolve);
  });
}
