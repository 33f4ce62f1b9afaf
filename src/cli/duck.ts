import { CommandFailure } from "./command.ts";

/** DuckDB in the process of the command, for the file formats that it reads and writes. Loaded when first needed. */
export class Duck implements AsyncDisposable {
  readonly #connection: import("@duckdb/node-api").DuckDBConnection;

  private constructor(connection: import("@duckdb/node-api").DuckDBConnection) {
    this.#connection = connection;
  }

  static async open(): Promise<Duck> {
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const instance = await DuckDBInstance.create(":memory:", { threads: "2", memory_limit: "1GB" });
    return new Duck(await instance.connect());
  }

  async rows(sql: string): Promise<Record<string, unknown>[]> {
    try {
      return (await (await this.#connection.run(sql)).getRowObjectsJson()) as Record<string, unknown>[];
    } catch (error) {
      throw new CommandFailure("invalid_argument", (error as Error).message);
    }
  }

  /** The first column of each row, read as it is needed. */
  async *texts(sql: string): AsyncGenerator<string> {
    try {
      const result = await this.#connection.stream(sql);
      for (;;) {
        const chunk = await result.fetchChunk();
        if (chunk === null || chunk.rowCount === 0) return;
        for (const value of chunk.getColumnValues(0)) yield value as string;
      }
    } catch (error) {
      throw new CommandFailure("invalid_argument", (error as Error).message);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.closeSync();
  }
}

export function sqlText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

export function sqlName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A column as JSON has it: times as RFC 3339, bytes as base64. */
export function jsonColumn(name: string, type: string): string {
  const column = sqlName(name);
  if (/^TIMESTAMP WITH TIME ZONE$/.test(type)) return `strftime(${column} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')`;
  if (/^TIMESTAMP/.test(type)) return `strftime(${column}::TIMESTAMP, '%Y-%m-%dT%H:%M:%S.%fZ')`;
  if (type === "DATE") return `strftime(${column}, '%Y-%m-%d')`;
  if (type === "BLOB") return `to_base64(${column})`;
  // An integer that JSON can't hold exactly is text.
  if (type === "HUGEINT" || type === "UHUGEINT") return `${column}::VARCHAR`;
  if (/^DECIMAL/.test(type)) return `${column}::DOUBLE`;
  return column;
}
