import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../support/source.ts";

/** What the container file and the unit say, against the tree: there is no container to build in every place that tests. */
interface Instruction {
  readonly word: string;
  readonly rest: string;
}

const read = (path: string) => readFileSync(join(root, path), "utf8");
const manifest = JSON.parse(read("package.json")) as Record<string, Record<string, string>>;

/** Comments may stand between the lines of one instruction. */
function instructionsOf(text: string): Instruction[] {
  const lines = text.split("\n").filter((line) => !/^\s*(?:#|$)/.test(line));
  return lines
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => {
      const [, word = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
      return { word, rest };
    });
}

const instructions = instructionsOf(read("deploy/Containerfile"));
const lastFrom = instructions.findLastIndex(({ word }) => word === "FROM");
const build = instructions.slice(0, lastFrom);
const image = instructions.slice(lastFrom);
const all = (stage: readonly Instruction[], wanted: string) =>
  stage.filter(({ word }) => word === wanted).map(({ rest }) => rest);
const only = (stage: readonly Instruction[], wanted: string): string => {
  const found = all(stage, wanted);
  assert.equal(found.length, 1, `one ${wanted}`);
  return found[0]!;
};
const ignored = new Set(read(".dockerignore").split("\n"));
/** Whether a file of the tree is sent to the build. */
const isSent = (path: string) => existsSync(join(root, path)) && !ignored.has(path.split("/")[0]!);

test("the build copies files that are there and sent to it", () => {
  const sources = all(build, "COPY").flatMap((rest) => rest.split(" ").slice(0, -1));
  assert.ok(sources.includes("package-lock.json"));
  for (const source of sources) assert.ok(source === "." || isSent(source), source);
  for (const part of ["src/main.ts", "scripts/setup.sh", "src/console", "src/client", "docs", "proto", "bin"]) {
    assert.ok(isSent(part), part);
  }
});

test("the build has the compiler when it makes the client, and the image none of what only development needs", () => {
  const steps = all(build, "RUN");
  const [install, make] = [steps.findIndex((run) => run.startsWith("npm ci")), steps.length - 1];
  assert.ok(install !== -1 && install < make, "installed before anything is made");
  assert.ok("typescript" in manifest["devDependencies"]!);
  assert.doesNotMatch(steps[install]!, /--omit|--production/);
  const parts = steps[make]!.split(/\s*&&\s*/);
  const made = parts.indexOf("sh scripts/setup.sh");
  assert.ok(made !== -1, "what the first start would make");
  // The set-up itself goes on where one of them can't be made.
  for (const file of ["build/console/index.html", "build/client/index.js", "build/client/index.d.ts"]) {
    assert.ok(parts.indexOf(`test -s ${file}`) > made, `${file} is looked for`);
  }
  // Without the option it writes the lockfile anew, which is then newer than what was made of it.
  assert.match(parts.at(-1)!, /^npm prune --omit=dev --no-save\b/);
});

test("the image runs as a user that owns nothing but the data", () => {
  const user = only(image, "USER");
  assert.match(user, /^[1-9]\d*$/, "a number, which a supervisor can check, and not that of root");
  const [run] = all(image, "RUN");
  assert.match(run!, new RegExp(`^useradd --system --uid ${user} `));
  const volume = only(image, "VOLUME");
  assert.match(run!, new RegExp(`mkdir ${volume} && chown engine:engine ${volume} && chmod 700 ${volume}$`));
  assert.match(only(image, "ENV"), new RegExp(`\\bSERVICE_DATA_DIR=${volume}(?: |$)`));
  // Copied by root, so that the user can't change them.
  assert.doesNotMatch(all(image, "COPY").join("\n"), /--chown|--chmod/);
  const copied = image.findIndex(({ word }) => word === "COPY");
  assert.ok(copied < image.findIndex(({ word }) => word === "USER"));
});

test("the image starts a program that it holds", () => {
  const [program, ...options] = JSON.parse(only(image, "ENTRYPOINT")) as string[];
  const folder = only(image, "WORKDIR");
  const inTree = (path: string) => path.replace(`${folder}/`, "");
  assert.equal(inTree(program!), "node_modules/.bin/node");
  assert.ok("node" in manifest["dependencies"]!, "which is not left out with what development needs");
  const [, main, command] = options;
  assert.ok(isSent(inTree(main!)), main);
  assert.equal(command, "serve");
  assert.match(all(image, "COPY").join("\n"), new RegExp(`^--from=build ${folder} ${folder}$`));
});

test("the image's settings are ones that the server knows, and its ports the ones it listens on", () => {
  const settings = Object.fromEntries(
    only(image, "ENV")
      .split(/\s+/)
      .map((pair) => pair.split("=")),
  );
  const known = read("src/config.ts") + read("src/edge/auth/config.ts");
  for (const name of Object.keys(settings)) {
    if (name.startsWith("SERVICE_")) assert.ok(known.includes(`"${name}"`), name);
  }
  const ports = ["SERVICE_LISTEN", "SERVICE_POSTGRES_LISTEN", "SERVICE_MYSQL_LISTEN"];
  assert.deepEqual(
    only(image, "EXPOSE").split(" "),
    ports.map((name) => /:(\d+)$/.exec(settings[name] ?? "")?.[1]),
  );
  assert.notEqual(settings["SERVICE_AUTH_MODE"], "off", "it listens beyond loopback");
});

test("the unit starts the same program, as a user of its own that can write its data alone", () => {
  const unit = read("deploy/native-engine.service");
  const [program, ...options] = JSON.parse(only(image, "ENTRYPOINT")) as string[];
  const folder = /^WorkingDirectory=(.+)$/m.exec(unit)?.[1];
  const inUnit = (part: string) => part.replace(/^\/app\//, `${folder}/`);
  assert.match(unit, new RegExp(`^ExecStart=${[program!, ...options].map(inUnit).join(" ")}$`, "m"));
  for (const line of ["DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="]) {
    assert.match(unit, new RegExp(`^${line}$`, "m"));
  }
  assert.match(unit, /^Environment=.*\bSERVICE_DATA_DIR=%S\/native-engine\b/m);
  assert.match(unit, /^StateDirectory=native-engine$/m);
});
