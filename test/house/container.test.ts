import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Instruction, instructionsOf } from "../../scripts/container-file.ts";
import { root } from "../support/source.ts";

/** What the container file and the unit say, against the tree: there is no container to build in every place that tests. */
const read = (path: string) => readFileSync(join(root, path), "utf8");
const manifest = JSON.parse(read("package.json")) as Record<string, Record<string, string>>;

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
  for (const part of ["src/main.ts", "scripts/setup.sh", "clients/langchain", "docs", "proto", "bin", "deploy"]) {
    assert.ok(isSent(part), part);
  }
});

test("the clients have the version of the server", () => {
  const [, version] = /^version = "(.+)"$/m.exec(read("clients/python/pyproject.toml")) ?? [];
  assert.equal(version, manifest["version"]);
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

test("the image starts the command of the package that the build installs", () => {
  const [program, command] = JSON.parse(only(image, "ENTRYPOINT")) as string[];
  const [, prefix] = /npm install --prefix (\/\w+)/.exec(all(build, "RUN").join("\n")) ?? [];
  assert.equal(program, `${prefix}/node_modules/.bin/${Object.keys(manifest["bin"]!)[0]}`);
  assert.equal(command, "serve");
  assert.ok(all(image, "COPY").includes(`--from=build ${prefix} ${prefix}`));
  assert.match(only(image, "HEALTHCHECK"), /\/ready/);
});

test("the image's settings are ones that the server knows, and its ports the ones it listens on", () => {
  const settings = Object.fromEntries(
    only(image, "ENV")
      .split(/\s+/)
      .map((pair) => pair.split("=")),
  );
  const known = read("src/composition/config/settings.ts") + read("src/edge/auth/config.ts");
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

test("the unit starts the installed package, as a user of its own that can write its data alone", () => {
  const unit = read("deploy/native-engine.service");
  const [, prefix, version] = /npm install --global --prefix (\S+) native-engine-(\S+)\.tgz/.exec(unit) ?? [];
  assert.equal(version, manifest["version"]);
  assert.match(unit, new RegExp(`^ExecStart=${prefix}/bin/native-engine serve$`, "m"));
  for (const line of ["DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="]) {
    assert.match(unit, new RegExp(`^${line}$`, "m"));
  }
  assert.match(unit, /^Environment=.*\bSERVICE_DATA_DIR=%S\/native-engine\b/m);
  assert.match(unit, /^StateDirectory=native-engine$/m);
});
