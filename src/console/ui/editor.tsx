import { useEffect, useRef, useState } from "preact/hooks";
import type { EditorHandle, Tables } from "./editor-core.ts";

export interface EditorProps {
  /** What it begins with. While a person writes, the editor alone knows the text: told back late, it would undo keys. */
  readonly value: string;
  /** Another number puts `value` in place of what was written. */
  readonly revision?: number;
  readonly onChange: (value: string) => void;
  readonly language: "sql" | "json";
  readonly label: string;
  readonly hint?: string;
  readonly lines?: boolean;
  readonly onRun?: () => void;
  readonly tables?: Tables;
  readonly faultAt?: number | undefined;
  readonly minHeight?: number;
}

/** The code editor, which is fetched with the first one that is shown. */
export function Editor(props: EditorProps) {
  const { revision = 0, language, label, tables, faultAt, minHeight = 44 } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [editor, setEditor] = useState<EditorHandle>();
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    let editor: EditorHandle | undefined;
    let isGone = false;
    void import("./editor-core.ts").then(({ createEditor }) => {
      if (isGone) return;
      editor = createEditor({
        parent: frame.current!,
        value: latest.current.value,
        language,
        label,
        hint: latest.current.hint ?? "",
        lines: latest.current.lines ?? false,
        onChange: (next) => latest.current.onChange(next),
        onRun: () => latest.current.onRun?.(),
      });
      setEditor(editor);
    });
    return () => {
      isGone = true;
      editor?.destroy();
    };
  }, [language, label]);
  useEffect(() => {
    if (revision > 0) editor?.setValue(latest.current.value);
  }, [editor, revision]);
  useEffect(() => {
    if (tables !== undefined) editor?.setTables(tables);
  }, [editor, tables]);
  useEffect(() => editor?.mark(faultAt), [editor, faultAt]);
  return <div class="editor" ref={frame} style={{ minHeight: `${minHeight}px` }} />;
}
