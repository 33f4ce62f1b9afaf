import { useEffect, useRef } from "preact/hooks";
import { toggleTheme } from "./theme.ts";

export interface Shortcuts {
  readonly go: (key: string) => void;
  readonly help: () => void;
}

const secondKeyMs = 3_000;
const never = Number.NEGATIVE_INFINITY;

function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** `g` and a letter goes to a page, `/` to its search box, `?` lists the keys. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    let goAt = never;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      const goes = performance.now() - goAt < secondKeyMs;
      goAt = never;
      if (goes) latest.current.go(event.key);
      else if (event.key === "g") goAt = performance.now();
      else if (event.key === "t") toggleTheme();
      else if (event.key === "?") latest.current.help();
      else if (event.key === "/") {
        const box = document.querySelector<HTMLElement>("main input[type=search]");
        if (box === null) return;
        event.preventDefault();
        box.focus();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}
