// Runs the steps of deploy/Containerfile without a container engine, and starts what they make as the image would: in a
// Debian of its own (debootstrap), as the image's user, with a read-only root and a network of its own. Then the same
// Debian with the package as the systemd unit installs it.
//
//   npm run test:container     needs root, debootstrap and unshare on Linux; says so where one is missing
//
// The Debian is kept in node_modules/.cache, so that only the first run takes minutes.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { instructionsOf } from "./container-file.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const startSecondsMax = 60;
const key = "k".repeat(40);

function run(command: string, args: readonly string[], options: { cwd?: string; input?: string } = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (status === 0) return stdout;
  throw new Error(`${command} ${args.join(" ").slice(0, 200)} failed (${status ?? error}):\n${stdout}\n${stderr}`);
}

function missing(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "it needs root on Linux";
  for (const program of ["debootstrap", "unshare", "chroot", "ip", "mount"]) {
    if (spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0) return `there is no ${program}`;
  }
  if (spawnSync("unshare", ["--mount", "--net", "--pid", "--fork", "true"]).status !== 0) {
    return "unshare is not allowed";
  }
  const from = mirror();
  if (from === undefined) return "no Debian mirror is set for apt";
  const isThere = spawnSync("curl", ["-fsI", "-m", "20", `${from}/dists/stable/Release`]).status === 0;
  return isThere ? undefined : "the Debian mirror does not answer";
}

/** The mirror that this machine's own packages come from, if there is one. */
function mirror(): string | undefined {
  const files = ["/etc/apt/sources.list", ...globSync("/etc/apt/sources.list.d/*")].filter((path) => existsSync(path));
  const text = files.map((path) => readFileSync(path, "utf8")).join("\n");
  return /^(?:URIs: |deb (?:\[[^\]]*\] )?)(https?:\S+\/debian)\/?(?:\s|$)/m.exec(text)?.[1];
}

function debian(suite: string, into: string): void {
  const kept = join(root, `node_modules/.cache/debian-${suite}.tar`);
  mkdirSync(into, { recursive: true });
  if (existsSync(kept)) {
    run("tar", ["-xf", kept, "-C", into]);
    return;
  }
  console.log(`installing Debian ${suite}; this takes some minutes, once`);
  run("debootstrap", ["--variant=minbase", suite, into, mirror()!]);
  mkdirSync(dirname(kept), { recursive: true });
  run("tar", ["-cf", kept, "-C", into, "."]);
}

/** What an engine would send to the build. */
function sendSources(into: string): void {
  const ignored = new Set(readFileSync(join(root, ".dockerignore"), "utf8").split("\n"));
  const files = run("git", ["ls-files", "-z"], { cwd: root }).split("\0");
  for (const file of files) {
    if (file === "" || ignored.has(file.split("/")[0]!)) continue;
    cpSync(join(root, file), join(into, file));
  }
}

const instructions = instructionsOf(readFileSync(join(root, "deploy/Containerfile"), "utf8"));
const lastFrom = instructions.findLastIndex(({ word }) => word === "FROM");
const all = (stage: typeof instructions, wanted: string) =>
  stage.filter(({ word }) => word === wanted).map(({ rest }) => rest);
const image = instructions.slice(lastFrom);

/** The build stage's commands, with its folders below `work`. */
function build(work: string): void {
  const source = join(work, "source");
  mkdirSync(source);
  sendSources(source);
  for (const command of all(instructions.slice(0, lastFrom), "RUN")) {
    const placed = command
      .replaceAll("--pack-destination /", `--pack-destination ${work}`)
      .replaceAll(" /native-engine-*.tgz", ` ${work}/native-engine-*.tgz`)
      .replaceAll("--prefix /app", `--prefix ${work}/app`);
    console.log(`RUN ${command}`);
    run("sh", ["-ec", placed], { cwd: source });
  }
}

interface Started {
  readonly folder: string;
  readonly user: string;
  readonly data: string;
  readonly env: readonly string[];
  readonly command: readonly string[];
  /** Fails until the server is ready. */
  readonly probe: readonly string[];
  readonly node: string;
}

const quoted = (words: readonly string[]) => words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");

/** Starts a server as a user of its own on a read-only root, asks it, and stops it; throws where something is not as it must be. */
function serve({ folder, user, data, env, command, probe, node }: Started): void {
  const inside = `chroot --userspec=${user}:${user} ${quoted([folder])} /usr/bin/env -i ${quoted(env)}`;
  const ask = `const get = (h) => fetch("http://127.0.0.1:8080/v1/namespaces", { headers: h }).then((r) => r.status);
    console.log(await get({}), await get({ authorization: "Bearer ${key}" }));`;
  const script = `
    set -eu
    ip link set lo up
    mount --make-rprivate /
    mount --bind ${quoted([folder])} ${quoted([folder])}
    mount -t proc proc ${quoted([`${folder}/proc`])}
    mount -t tmpfs tmpfs ${quoted([`${folder}/tmp`])}
    mount --bind ${quoted([`${folder}${data}`])} ${quoted([`${folder}${data}`])}
    mount -o remount,bind,ro ${quoted([folder])}
    ${inside} ${quoted(command)} &
    server=$!
    tries=0
    until ${inside} ${quoted(probe)}; do
      tries=$((tries + 1))
      [ "$tries" -lt ${startSecondsMax} ] || { echo "it does not become ready"; exit 1; }
      kill -0 "$server" || exit 1
      sleep 1
    done
    ${inside} ${quoted([node, "--input-type=module", "-e", ask])} | grep -qx '401 200'
    if ${inside} /bin/touch /app/changed /opt/changed /etc/changed 2> /dev/null; then echo "the root can be written"; exit 1; fi
    kill -TERM "$server"
    wait "$server"
  `;
  run("unshare", ["--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", script]);
}

function container(work: string): void {
  const folder = join(work, "image");
  debian(/debian:(\w+)-slim/.exec(all(image, "FROM")[0]!)![1]!, folder);
  for (const command of all(image, "RUN")) {
    console.log(`RUN ${command}`);
    run("chroot", [folder, "sh", "-ec", command]);
  }
  run("cp", ["-a", join(work, "app"), join(folder, "app")]);
  const env = [...all(image, "ENV")[0]!.split(/\s+/), `SERVICE_API_KEYS=boss:admin:${key}`];
  const probe = JSON.parse(/CMD (\[.*\])$/.exec(all(image, "HEALTHCHECK")[0]!)![1]!) as string[];
  serve({
    folder,
    user: all(image, "USER")[0]!,
    data: all(image, "VOLUME")[0]!,
    env,
    command: JSON.parse(all(image, "ENTRYPOINT")[0]!) as string[],
    probe,
    node: "node",
  });
  console.log("the image's server is ready, asks for keys, can't write its root and stops");
}

/** A user of systemd's own choice is a number that owns nothing but its folders. */
const unitUser = "61184";

function unit(work: string): void {
  const folder = join(work, "debian");
  debian("bookworm", folder);
  const text = readFileSync(join(root, "deploy/native-engine.service"), "utf8");
  const [, prefix, archive] = /npm install --global --prefix (\S+) (native-engine-\S+\.tgz)/.exec(text)!;
  const install = ["install", "--global", "--no-audit", "--no-fund", "--prefix", join(folder, prefix!)];
  run("npm", [...install, join(work, archive!)]);
  const data = "/var/lib/native-engine";
  const cache = "/var/cache/native-engine";
  for (const path of [data, cache]) mkdirSync(join(folder, path), { recursive: true });
  for (const path of [data, cache]) run("chown", [`${unitUser}:${unitUser}`, join(folder, path)]);
  chmodSync(join(folder, data), 0o700);
  const [, given] = /^Environment=(.+)$/m.exec(text)!;
  const settings = given!.replaceAll("%S", "/var/lib").replaceAll("%C", "/var/cache").split(" ");
  const [, command] = /^ExecStart=(.+)$/m.exec(text)!;
  const node = `${prefix}/lib/node_modules/native-engine/node_modules/.bin/node`;
  serve({
    folder,
    user: unitUser,
    data,
    // What the unit reads from /etc/native-engine.env.
    env: [...settings, "PATH=/usr/bin:/bin", "SERVICE_AUTH_MODE=apikey", `SERVICE_API_KEYS=boss:admin:${key}`],
    command: command!.split(" "),
    probe: [
      node,
      "-e",
      "fetch('http://127.0.0.1:8080/ready').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))",
    ],
    node,
  });
  console.log("the unit's server is ready, asks for keys, can't write its root and stops");
  verifyUnit(folder, text);
}

/** As systemd reads it: every key is known, and what it starts is there. */
function verifyUnit(folder: string, text: string): void {
  const units = "/usr/lib/systemd/system";
  if (!existsSync(units) || spawnSync("systemd-analyze", ["--version"]).status !== 0) return;
  cpSync(units, join(folder, units), { recursive: true, verbatimSymlinks: true });
  const target = join(folder, "etc/systemd/system");
  mkdirSync(target, { recursive: true });
  writeFileSync(join(target, "native-engine.service"), text);
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", `--root=${folder}`, "native-engine.service"], {
    encoding: "utf8",
  });
  if (status !== 0 || stderr !== "") throw new Error(`systemd-analyze verify (${status}): ${stderr}`);
  console.log("systemd takes the unit as it is");
}

const why = missing();
if (why !== undefined) console.log(`the container's steps are skipped: ${why}`);
else {
  const work = mkdtempSync(join(tmpdir(), "native-engine-container-"));
  try {
    chmodSync(work, 0o755);
    build(work);
    container(work);
    unit(work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
