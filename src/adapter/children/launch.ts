import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export interface LaunchOptions {
  readonly entry: URL;
  readonly args?: readonly string[];
  /** Options of Node, as `--max-old-space-size=256`. */
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** What it may allocate besides the runtime's own, by a limit of the system where there is one. */
  readonly dataBytesMax: number;
}

/** What a child gets of the server's environment: nothing that holds a secret. */
const passedNames = ["PATH", "TZ", "LANG", "NODE_COMPILE_CACHE", "NODE_ICU_DATA", "LD_LIBRARY_PATH", "TMPDIR"];
const passedPrefixes = ["MALLOC_", "LC_"];

/** Before others, where the system has no memory left. */
const oomScore = "500";

/** What Node itself sets aside: 512 MiB of it for code, hardly any of which is ever touched. */
const runtimeBytes = 768 * 1024 * 1024;

const shell = "/bin/sh";
/**
 * RLIMIT_DATA counts what is private and written to. RLIMIT_AS would also count the map of the store and what V8 sets
 * aside, which are far larger than what is used. Where the system can end a child with its parent, it does, also one whose
 * own thread is held up and does not see its channel close. The core of a child that crashed is not wanted.
 */
const limited = [
  "ulimit -c 0",
  'ulimit -d "$1" 2>/dev/null',
  "shift",
  'if setpriv --pdeathsig KILL true 2>/dev/null; then exec setpriv --pdeathsig KILL "$@"; fi',
  'exec "$@"',
].join("\n");

export function launch({ entry, args = [], nodeArgs = [], env = {}, dataBytesMax }: LaunchOptions): ChildProcess {
  const command = [process.execPath, ...nodeArgs, fileURLToPath(entry), ...args];
  const kilobytes = String(Math.ceil((runtimeBytes + dataBytesMax) / 1024));
  const [file, ...rest] = existsSync(shell) ? [shell, "-c", limited, "sh", kilobytes, ...command] : command;
  const child = spawn(file!, rest, {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    env: { ...passedEnvironment(), ...env },
  });
  if (child.pid !== undefined) {
    try {
      writeFileSync(`/proc/${child.pid}/oom_score_adj`, oomScore);
    } catch {
      // A wish, not a need.
    }
  }
  return child;
}

function passedEnvironment(): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value === undefined) continue;
    if (passedNames.includes(name) || passedPrefixes.some((prefix) => name.startsWith(prefix))) passed[name] = value;
  }
  return passed;
}
