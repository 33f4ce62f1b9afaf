/** Where a command's answer goes: a table for people, JSON for programs. */
export class Output {
  readonly json: boolean;
  readonly #stdout: NodeJS.WriteStream;
  readonly #stderr: NodeJS.WriteStream;

  constructor(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream, json: boolean) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.json = json;
  }

  get isTerminal(): boolean {
    return this.#stdout.isTTY === true;
  }

  get width(): number {
    return this.#stdout.columns || 120;
  }

  /** The answer itself. Resolves when the reader has room for more. */
  async write(text: string | Uint8Array): Promise<void> {
    if (this.#stdout.write(text)) return;
    await new Promise<void>((resolve) => this.#stdout.once("drain", resolve));
  }

  async line(text: string): Promise<void> {
    await this.write(`${text}\n`);
  }

  /** What was done, for people only. */
  say(text: string): void {
    if (!this.json) this.#stdout.write(`${text}\n`);
  }

  /** A remark that is no part of the answer. */
  note(text: string): void {
    this.#stderr.write(`${text}\n`);
  }

  /** One value: as JSON, or as what `show` makes of it. */
  async value(value: unknown, show: () => string): Promise<void> {
    await this.line(this.json ? JSON.stringify(value) : show());
  }

  async list<T>(name: string, items: readonly T[], columns: Readonly<Record<string, (item: T) => unknown>>) {
    await this.value({ [name]: items }, () =>
      items.length === 0
        ? `no ${name}`
        : formatTable(
            Object.keys(columns),
            items.map((item) => Object.values(columns).map((of) => cell(of(item)))),
          ),
    );
  }

  /** Fields, one a line. */
  async fields(value: object, fields: Readonly<Record<string, unknown>>): Promise<void> {
    const width = Math.max(...Object.keys(fields).map((name) => name.length));
    await this.value(value, () =>
      Object.entries(fields)
        .map(([name, each]) => `${name.padEnd(width)}  ${cell(each)}`)
        .join("\n"),
    );
  }
}

/** A value as a cell of a table: on one line, without control characters. */
export function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
  return text.replace(/[\u0000-\u001f\u007f]/g, (character) =>
    character === "\n"
      ? "\\n"
      : character === "\t"
        ? "\\t"
        : `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
}

/** Columns as wide as their widest cell; a number is set to the right. */
export function formatTable(names: readonly string[], rows: readonly (readonly string[])[], cellMax = 60): string {
  const cut = (text: string) => (displayWidth(text) <= cellMax ? text : `${[...text].slice(0, cellMax - 1).join("")}…`);
  const cells = rows.map((row) => row.map(cut));
  const widths = names.map((name, i) =>
    Math.max(displayWidth(name), ...cells.map((row) => displayWidth(row[i] ?? ""))),
  );
  const right = names.map((_, i) => cells.length > 0 && cells.every((row) => /^-?[\d.]*$/.test(row[i] ?? "")));
  const line = (row: readonly string[]) =>
    row
      .map((each, i) => {
        const space = " ".repeat(widths[i]! - displayWidth(each));
        return right[i] ? space + each : each + space;
      })
      .join("  ")
      .trimEnd();
  return [line(names), line(widths.map((width) => "─".repeat(width))), ...cells.map(line)].join("\n");
}

/** Columns that a terminal gives a text: wide characters take two. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) {
    const code = character.codePointAt(0)!;
    const isWide =
      code >= 0x1100 &&
      (code <= 0x115f ||
        (code >= 0x2e80 && code <= 0xa4cf) ||
        (code >= 0xac00 && code <= 0xd7a3) ||
        (code >= 0xf900 && code <= 0xfaff) ||
        (code >= 0xfe30 && code <= 0xfe6f) ||
        (code >= 0xff00 && code <= 0xff60) ||
        (code >= 0xffe0 && code <= 0xffe6) ||
        (code >= 0x1f300 && code <= 0x1faff) ||
        (code >= 0x20000 && code <= 0x3fffd));
    width += isWide ? 2 : /\p{Mn}|\u200d|\ufe0f/u.test(character) ? 0 : 1;
  }
  return width;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

export function formatBytes(bytes: number): string {
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 1024 ** unit;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return "?";
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}
