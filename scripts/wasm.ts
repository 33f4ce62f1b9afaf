// Compiles wasm/records.ts into the module that holds its binary form; with --check only tells whether they are in step.
import { readFileSync, writeFileSync } from "node:fs";
import asc from "assemblyscript/asc";

const source = "wasm/records.ts";
const target = "src/edge/rest/record-codec-binary.ts";

const options = [
  "-O3",
  "--enable",
  "simd",
  "--enable",
  "bulk-memory",
  "--runtime",
  "stub",
  "--noAssert",
  "--importMemory",
  "--memoryBase",
  "1024",
  "--use",
  "abort=",
];
const { error, stdout, stderr, binary } = await compile();
if (error !== null || binary === undefined) {
  process.stderr.write(`${stdout}${stderr}${error?.message ?? ""}\n`);
  process.exit(1);
}

async function compile() {
  let made: Uint8Array | undefined;
  const result = await asc.main([source, "-o", "records.wasm", ...options], {
    readFile: (name, folder) => {
      try {
        return readFileSync(`${folder}/${name}`, "utf8");
      } catch {
        return null;
      }
    },
    writeFile: (_name, content) => {
      if (typeof content !== "string") made = content;
    },
  });
  return { error: result.error, stdout: String(result.stdout), stderr: String(result.stderr), binary: made };
}

const text = Buffer.from(binary).toString("base64");
const lines = text.match(/.{1,100}/g)!.map((line) => `  "${line}"`);
const module = `/** ${source} in its binary form, made by scripts/wasm.ts. */\nexport const recordCodecBinary =\n${lines.join(" +\n")};\n`;
if (!process.argv.includes("--check")) writeFileSync(target, module);
else if (readFileSync(target, "utf8") !== module) {
  process.stderr.write(`${target} is not in step with ${source}: run node scripts/wasm.ts\n`);
  process.exit(1);
}
