import type { StatementText } from "../../engine/sql/dialect/postgres-lexer.ts";
import { postgresEdits, UnknownSetting } from "../../engine/sql/dialect/postgres-rewrite.ts";
import { EditedQuery } from "../../engine/sql/thread/edits.ts";
import { type Settings, unknownSetting } from "./settings.ts";

export interface SessionFacts {
  readonly namespace: string;
  readonly user: string;
  readonly process: number;
  readonly version: string;
  readonly namespaces: () => readonly string[];
}

/** A statement in the engine's words, which knows the places of the client's. */
export function rewrite(statement: StatementText, facts: SessionFacts, settings: Settings): EditedQuery {
  const session = {
    ...facts,
    settings: () => settings.all,
    setting: (name: string) => settings.get(name),
    configure(name: string, value: string, isLocal: boolean) {
      settings.set(name, value, isLocal);
      return settings.get(name) ?? value;
    },
  };
  try {
    return new EditedQuery(statement.text, postgresEdits(statement, session));
  } catch (error) {
    throw error instanceof UnknownSetting ? unknownSetting(error.setting) : error;
  }
}
