import assert from "node:assert/strict";
import type { Answer } from "./http.ts";
import { runCommand, type ServerProcess } from "./process.ts";

/** The command line against a server of the test, in one namespace. */
export class CommandLine {
  readonly env: Readonly<Record<string, string>>;

  constructor(server: ServerProcess, namespace: string, env: Readonly<Record<string, string>> = {}) {
    this.env = { SERVICE_URL: server.url, SERVICE_NAMESPACE: namespace, ...env };
  }

  run(args: readonly string[], input = "") {
    return runCommand(args, this.env, input);
  }

  /** The output of a command that must work. */
  async ok(args: readonly string[], input = ""): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input);
    assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  async json(args: readonly string[], input = ""): Promise<Answer["json"]> {
    return JSON.parse(await this.ok([...args, "--json"], input));
  }

  async fails(args: readonly string[], code: number, stderr: RegExp, input = ""): Promise<void> {
    const done = await this.run(args, input);
    assert.equal(done.code, code, `${args.join(" ")}: ${done.stdout}${done.stderr}`);
    assert.match(done.stderr, stderr);
    assert.doesNotMatch(done.stderr, /\n\s+at /, "no stack trace for a user's mistake");
  }
}
