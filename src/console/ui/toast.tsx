import { signal } from "@preact/signals";

const shown = signal<{ readonly text: string; readonly id: number } | undefined>(undefined);
const shownMs = 4_000;
let last = 0;

/** Says that something has been done. */
export function toast(text: string): void {
  last++;
  const id = last;
  shown.value = { text, id };
  setTimeout(() => {
    if (shown.value?.id === id) shown.value = undefined;
  }, shownMs);
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value === undefined ? null : <div class="toast">{shown.value.text}</div>}
    </div>
  );
}
