import type { SqlResult } from "../../engine/sql/sql.ts";
import type { Command } from "./command.ts";
import { localResult } from "./local-result.ts";
import { parameterStatus } from "./message/backend.ts";
import type { MessageWriter } from "./message/writer.ts";
import { type Settings, unknownSetting } from "./settings.ts";

/** Runs SET or RESET; returns its tag. A client is sent the new value of a setting that it follows. */
export function configure(command: Command, settings: Settings, out: MessageWriter): string {
  if (command.kind === "set") {
    settings.set(command.name, command.value, command.isLocal);
    report(command.name, settings, out);
    return "SET";
  }
  if (command.kind !== "reset") throw new Error(`${command.kind} is no command of a session`);
  if (command.name === undefined) resetAll(settings, out);
  else {
    settings.set(command.name, undefined, false);
    report(command.name, settings, out);
  }
  return "RESET";
}

export function resetAll(settings: Settings, out: MessageWriter): void {
  settings.resetAll();
  for (const [name, value] of settings.reported) parameterStatus(out, name, value);
}

function report(name: string, settings: Settings, out: MessageWriter): void {
  const reported = settings.reportedName(name);
  if (reported !== undefined) parameterStatus(out, reported, settings.get(name) ?? "");
}

/** The rows of SHOW. */
export function showSetting(name: string, settings: Settings): SqlResult {
  if (name.toLowerCase() === "all") {
    const rows = settings.all.map(([setting, value]) => [setting, value, ""]);
    return localResult(["name", "setting", "description"], rows);
  }
  const value = settings.get(name);
  if (value === undefined) throw unknownSetting(name);
  return localResult([name], [[value]]);
}
