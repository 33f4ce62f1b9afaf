import { signal } from "@preact/signals";
import { browserStorage } from "./storage.ts";

export type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");

function current(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  if (chosen === "light" || chosen === "dark") return chosen;
  return system.matches ? "dark" : "light";
}

export const theme = signal<Theme>(current());
system.addEventListener("change", () => {
  theme.value = current();
});

/** The choice is kept only where it differs from the system's, so that the page follows the system again. */
export function toggleTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  const isSystem = (next === "dark") === system.matches;
  if (isSystem) delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
  browserStorage.set("theme", isSystem ? undefined : next);
  theme.value = next;
}
