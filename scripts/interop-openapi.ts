/**
 * Calls every route of the API's description with schemathesis, where it is installed.
 *
 *   npm run test:interop-openapi [-- --examples N]     how many requests each route gets at most (20)
 *
 * SCHEMATHESIS names the program when it is not on the path. Nothing is installed.
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { FuzzServer } from "../test/fuzz/wire/server.ts";

const { values } = parseArgs({ options: { examples: { type: "string", default: "20" } } });
const program = process.env["SCHEMATHESIS"] ?? "schemathesis";

/**
 * Not among them: that whatever the schema allows is taken. Names of what is there, filters and statements are checked by
 * more than a schema can say.
 */
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "unsupported_method",
];

async function call(): Promise<void> {
  await using server = await FuzzServer.start();
  const args = ["run", `${server.url}/openapi.json`, "--checks", checks.join(","), "--max-examples", values.examples];
  const { status } = spawnSync(program, [...args, "--exclude-path", "/v1/instance/backup"], { stdio: "inherit" });
  await server.check();
  process.exitCode = status ?? 1;
}

if (spawnSync(program, ["--version"]).status === 0) await call();
else
  process.stdout.write("schemathesis: skipped, not installed: pip install schemathesis, and name it in SCHEMATHESIS\n");
