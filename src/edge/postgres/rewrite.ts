import { EditedQuery } from "../../engine/sql/service/edits.ts";
import type { SqlType } from "../../engine/sql/type.ts";
import { typeName } from "../../engine/sql/value.ts";
import type { StatementText } from "./dialect/lexer.ts";
import type { TextEdit } from "./dialect/moved.ts";
import { type PreparedText, postgresEdits, UnknownSetting } from "./dialect/rewrite.ts";
import { type Settings, unknownSetting } from "./settings.ts";

export interface SessionFacts {
  readonly namespace: string;
  readonly user: string;
  readonly process: number;
  readonly version: string;
  readonly namespaces: () => readonly string[];
  readonly prepared: () => readonly PreparedText[];
}

export interface DeclaredTypes {
  readonly types: readonly (SqlType | undefined)[];
  readonly asNulls?: boolean;
}

/** Parameters of these types, or a NULL of it in their place; those that stand within a cast already are of its type. */
function typeEdits({ tokens }: StatementText, { types, asNulls }: DeclaredTypes): TextEdit[] {
  return tokens.flatMap(({ kind, text, start, end }) => {
    const type = kind === "parameter" ? types[Number(text.slice(1)) - 1] : undefined;
    return type === undefined
      ? []
      : [{ start, end, text: `CAST(${asNulls === true ? "NULL" : text} AS ${typeName(type)})` }];
  });
}

/** A statement in the engine's words, which knows the places of the client's. `tables` are `schema.table` in lower case. */
export function rewrite(
  statement: StatementText,
  facts: SessionFacts,
  settings: Settings,
  tables: ReadonlySet<string>,
  types: DeclaredTypes = { types: [] },
): EditedQuery {
  const path = settings.searchPath;
  const session = {
    ...facts,
    searchPath: () => path,
    schemaOf(table: string) {
      const schema = path.length === 1 ? path[0] : path.find((each) => tables.has(`${each}.${table.toLowerCase()}`));
      return schema === "collections" ? undefined : schema;
    },
    settings: () => settings.all,
    setting: (name: string) => settings.get(name),
    configure(name: string, value: string, isLocal: boolean) {
      settings.set(name, value, isLocal);
      return settings.get(name) ?? value;
    },
  };
  try {
    return new EditedQuery(statement.text, postgresEdits(statement, session, typeEdits(statement, types)));
  } catch (error) {
    throw error instanceof UnknownSetting ? unknownSetting(error.setting) : error;
  }
}
