import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { PostgreSQL, sql } from "@codemirror/lang-sql";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, type Extension, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Tables and their columns. */
export type Tables = Readonly<Record<string, readonly string[]>>;

export interface EditorOptions {
  readonly parent: HTMLElement;
  readonly value: string;
  readonly language: "sql" | "json";
  readonly label: string;
  readonly hint: string;
  readonly lines: boolean;
  readonly onChange: (value: string) => void;
  readonly onRun: () => void;
}

export interface EditorHandle {
  setValue(value: string): void;
  setTables(tables: Tables): void;
  /** Marks what stands at a place, or nothing. */
  mark(at: number | undefined): void;
  focus(): void;
  destroy(): void;
}

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "transparent", fontSize: "13px" },
  "&.cm-focused": { outline: "none" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)", padding: "10px 0" },
  ".cm-line": { padding: "0 12px" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--faint)", border: "none" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--accent-soft)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)", outline: "none" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    border: "1px solid var(--line-strong)",
    borderRadius: "8px",
    boxShadow: "var(--shadow)",
    overflow: "hidden",
  },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 10px", fontFamily: "var(--mono)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-fault": { textDecoration: "underline wavy var(--bad)", backgroundColor: "var(--bad-soft)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--code-keyword)" },
]);

const markFault = StateEffect.define<number | undefined>();
const fault = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = transaction.docChanged ? Decoration.none : marks;
    for (const effect of transaction.effects) {
      if (effect.is(markFault)) next = faultAt(transaction.state, effect.value);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** The word at a place, or the character. */
function faultAt(state: EditorState, at: number | undefined): DecorationSet {
  if (at === undefined || state.doc.length === 0) return Decoration.none;
  const from = Math.min(Math.max(0, at), state.doc.length - 1);
  const word = state.wordAt(from);
  const range = word ?? { from, to: from + 1 };
  return Decoration.set([Decoration.mark({ class: "cm-fault" }).range(range.from, range.to)]);
}

function languageOf(language: EditorOptions["language"], tables: Tables = {}): Extension {
  if (language === "json") return json();
  return sql({ dialect: PostgreSQL, schema: tables as Record<string, string[]>, upperCaseKeywords: true });
}

/**
 * The editor lives in a shadow root: there its styles are adopted style sheets, which the page's policy allows, while
 * style elements in the page are not.
 */
export function createEditor(options: EditorOptions): EditorHandle {
  const { parent, value, language, label, hint, lines, onChange, onRun } = options;
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const grammar = new Compartment();
  const run = () => {
    onRun();
    return true;
  };
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: value,
      extensions: [
        look,
        syntaxHighlighting(colours),
        history(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ icons: false }),
        fault,
        EditorView.lineWrapping,
        ...(lines ? [lineNumbers()] : []),
        placeholder(hint),
        keymap.of([
          { key: "Mod-Enter", run, preventDefault: true },
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...historyKeymap,
          ...defaultKeymap,
        ]),
        grammar.of(languageOf(language)),
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    setValue(next) {
      if (next !== view.state.doc.toString()) {
        view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      }
    },
    setTables: (tables) => view.dispatch({ effects: grammar.reconfigure(languageOf(language, tables)) }),
    mark: (at) => view.dispatch({ effects: markFault.of(at) }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
