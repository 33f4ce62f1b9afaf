/**
 * Calls every route of the API's description with schemathesis, where it is installed: what the description allows must
 * be taken, what it forbids refused, and all answers must be as it says.
 *
 *   npm run test:interop-openapi [-- --examples N]     how many requests each route gets at most (20)
 *
 * SCHEMATHESIS names the program when it is not on the path. Nothing is installed.
 */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { FuzzServer } from "../test/fuzz/wire/server.ts";
import { temporaryFolder } from "../test/support/process.ts";

const { values } = parseArgs({ options: { examples: { type: "string", default: "20" } } });
const program = process.env["SCHEMATHESIS"] ?? "schemathesis";

/** Where a request that the description allows may be answered with 400, by design: what a schema can't say. */
const checkedFurther: readonly (readonly [path: string, why: string])[] = [
  ["POST /v1/namespaces/{ns}/sql", "a statement has a grammar, and names what is there"],
  ["POST /v1/namespaces/{ns}/query", "names and kinds of fields are the collection's"],
  ["POST /v1/namespaces/{ns}/collections", "names of fields are not given twice; json fields have no index"],
  ["POST /v1/namespaces/{ns}/collections/{c}/fields", "as above, and not those of the collection"],
  ["POST /v1/namespaces/{ns}/collections/{c}/recall", "the field is a vector of the collection"],
  ["POST /v1/namespaces/{ns}/collections/{c}/documents", "vectors and conditions are of the collection's fields"],
  ["POST /v1/namespaces/{ns}/collections/{c}/documents/count", "a filter is of the collection's fields"],
  ["POST /v1/namespaces/{ns}/collections/{c}/documents/scroll", "as above; a cursor is one that a page gave"],
  ["POST /v1/namespaces/{ns}/collections/{c}/documents/delete_by_filter", "as above"],
  ["POST /v1/namespaces/{ns}/collections/{c}/documents/patch_by_filter", "as above"],
  ["POST /v1/namespaces/{ns}/links", "each kind of target has options of its own"],
  ["POST /v1/namespaces/{ns}/streams/{stream}/records", "how a value is written is said by format"],
  ["POST /v1/namespaces/{ns}/streams/{stream}/partitions/{partition}/records", "as above"],
  ["POST /v1/namespaces/{ns}/streams/{stream}/events", "the headers tell the mode, and have a grammar in binary mode"],
  ["POST /v1/namespaces/{ns}/live/query", "names of fields are not empty, however deep they are"],
  ["POST /v1/namespaces/{ns}/live/mutate", "as above"],
  ["GET /v1/namespaces/{ns}/streams/{stream}/partitions/{partition}/records", "offset or timestamp_ms, not both"],
];

const settings = `
# What one answer gave for the next request, and nobody makes up.
parameters = { page_token = "", "service-consistency-token" = "[]" }

# It takes an id that a creation answers for the name in a path.
[checks]
ensure_resource_availability = { enabled = false }

${checkedFurther
  .map(
    ([name, why]) => `
# ${why}
[[operations]]
include-name = "${name}"
[operations.checks]
positive_data_acceptance = { enabled = false }`,
  )
  .join("\n")}

# An event of binary mode has the type that was stored with it, or none.
[[operations]]
include-name = "GET /v1/namespaces/{ns}/streams/{stream}/partitions/{partition}/events"
[operations.checks]
positive_data_acceptance = { enabled = false }
content_type_conformance = { enabled = false }
response_schema_conformance = { enabled = false }
`;

async function call(): Promise<void> {
  const key = randomBytes(24).toString("base64url");
  const folder = await temporaryFolder();
  try {
    await using server = await FuzzServer.startEmpty({
      SERVICE_AUTH_MODE: "apikey",
      SERVICE_API_KEYS: `api:admin:${key}`,
    });
    const config = join(folder, "schemathesis.toml");
    await writeFile(config, settings);
    const schema = join(folder, "openapi.json");
    const headers = { authorization: `Bearer ${key}` };
    await writeFile(schema, await (await fetch(`${server.url}/openapi.json`, { headers })).text());
    const args = [
      "--config-file",
      config,
      "run",
      schema,
      "--url",
      server.url,
      "--header",
      `Authorization: Bearer ${key}`,
    ];
    // It leaves what it found in the folder where it runs.
    const child = spawn(
      program,
      [...args, "--max-examples", values.examples, "--continue-on-failure", "--exclude-path", "/v1/instance/backup"],
      { stdio: "inherit", cwd: folder },
    );
    const [status] = (await once(child, "exit")) as [number | null];
    await server.check();
    process.exitCode = status ?? 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (spawnSync(program, ["--version"]).status === 0) await call();
else
  process.stdout.write("schemathesis: skipped, not installed: pip install schemathesis, and name it in SCHEMATHESIS\n");
