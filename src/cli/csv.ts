/** One line of CSV, without its end. An empty text is quoted, to differ from a missing value. */
export function csvLine(values: readonly unknown[]): string {
  return values.map(csvValue).join(",");
}

function csvValue(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text === "" || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
