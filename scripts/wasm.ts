// Compiles the modules under wasm/ into those that hold their binary form; with --check only tells whether they are in step.
import { readFileSync, writeFileSync } from "node:fs";
import asc from "assemblyscript/asc";

/** For a memory that threads share; one of its own is as good for those that do not. */
const shared = ["--sharedMemory", "--enable", "threads", "--initialMemory", "1", "--maximumMemory", "65536"];

const modules: readonly { source: string; target: string; name: string; more?: readonly string[] }[] = [
  { source: "wasm/records.ts", target: "src/edge/rest/records/codec-binary.ts", name: "recordCodecBinary" },
  { source: "wasm/events.ts", target: "src/engine/event/event-codec-binary.ts", name: "eventCodecBinary" },
  { source: "wasm/compact.ts", target: "src/engine/log/compact-batch-binary.ts", name: "compactBatchBinary" },
  {
    source: "wasm/vectors.ts",
    target: "src/engine/search/vector/dot-kernel-binary.ts",
    name: "dotKernelBinary",
    more: [...shared, "--enable", "relaxed-simd"],
  },
  {
    source: "wasm/text.ts",
    target: "src/engine/search/text/score-kernel-binary.ts",
    name: "scoreKernelBinary",
    more: shared,
  },
  {
    source: "wasm/graph.ts",
    target: "src/adapter/vectors/walk-binary.ts",
    name: "walkBinary",
    more: [...shared, "--enable", "relaxed-simd"],
  },
  {
    source: "wasm/codes.ts",
    target: "src/adapter/vectors/codes-binary.ts",
    name: "codesBinary",
    more: [...shared, "--enable", "relaxed-simd"],
  },
];
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

async function compile(source: string, more: readonly string[]): Promise<Uint8Array> {
  let made: Uint8Array | undefined;
  const { error, stdout, stderr } = await asc.main([source, "-o", "module.wasm", ...options, ...more], {
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
  if (error === null && made !== undefined) return made;
  process.stderr.write(`${stdout}${stderr}${error?.message ?? ""}\n`);
  process.exit(1);
}

for (const { source, target, name, more = [] } of modules) {
  const text = Buffer.from(await compile(source, more)).toString("base64");
  const lines = text.match(/.{1,100}/g)!.map((line) => `  "${line}"`);
  const module = `/** ${source} in its binary form, made by scripts/wasm.ts. */\nexport const ${name} =\n${lines.join(" +\n")};\n`;
  if (!process.argv.includes("--check")) writeFileSync(target, module);
  else if (readFileSync(target, "utf8") !== module) {
    process.stderr.write(`${target} is not in step with ${source}: run node scripts/wasm.ts\n`);
    process.exit(1);
  }
}
