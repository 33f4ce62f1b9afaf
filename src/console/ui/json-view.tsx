import { Scroll } from "./parts.tsx";

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
/** Colouring longer text would cost more than it shows. */
const colouredLengthMax = 100_000;

/** Long arrays of numbers, which vectors are, on one line. */
function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(
    /\[\s+(-?[\d.eE+-]+(?:,\s+-?[\d.eE+-]+)*)\s+\]/g,
    (_all, inner: string) => {
      const numbers = inner.split(/,\s+/);
      if (numbers.length <= 12) return `[${numbers.join(", ")}]`;
      return `[${numbers.slice(0, 8).join(", ")}, … ${numbers.length} numbers]`;
    },
  );
}

export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = value === undefined ? "undefined" : pretty(value);
  const parts = [];
  let at = 0;
  if (text.length <= colouredLengthMax) {
    for (const match of text.matchAll(token)) {
      parts.push(text.slice(at, match.index));
      const [all, string, colon, word] = match;
      const kind =
        string === undefined ? (word === undefined ? "number" : "word") : colon === undefined ? "string" : "key";
      parts.push(
        <span key={match.index} class={`json-${kind}`}>
          {all}
        </span>,
      );
      at = match.index + all.length;
    }
  }
  parts.push(text.slice(at));
  return (
    <Scroll class="code" label={label}>
      <pre>
        <code>{parts}</code>
      </pre>
    </Scroll>
  );
}
