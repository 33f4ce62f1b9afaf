import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface VirtualListProps<T> {
  readonly label: string;
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly keyOf: (item: T) => string | number;
  readonly row: (item: T, index: number) => ComponentChildren;
  /** Keeps the end in view while it was in view. */
  readonly follow?: boolean;
}

const overscan = 8;

/** Rows of one height, of which only those in view exist. */
export function VirtualList<T>({ label, items, rowHeight, keyOf, row, follow = false }: VirtualListProps<T>) {
  const frame = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const atEnd = useRef(true);
  useEffect(() => {
    const element = frame.current!;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    let lastTop = element.scrollTop;
    const onScroll = () => {
      measure();
      const { scrollTop, clientHeight, scrollHeight } = element;
      // The list may have grown since it was scrolled to its end: only somebody who scrolls up leaves it.
      if (scrollTop + clientHeight >= scrollHeight - rowHeight) atEnd.current = true;
      else if (scrollTop < lastTop) atEnd.current = false;
      lastTop = scrollTop;
    };
    measure();
    element.addEventListener("scroll", onScroll, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => {
      element.removeEventListener("scroll", onScroll);
      observer.disconnect();
    };
  }, [rowHeight]);
  // Depends on this alone: a longer list is what moves its end
  useEffect(() => {
    if (follow && atEnd.current) frame.current!.scrollTop = frame.current!.scrollHeight;
  }, [items, follow]);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + overscan);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section class="virtual" ref={frame} tabIndex={0} aria-label={label}>
      <ul style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, i) => (
          <li
            key={keyOf(item)}
            aria-setsize={items.length}
            aria-posinset={first + i + 1}
            style={{ transform: `translateY(${(first + i) * rowHeight}px)`, height: `${rowHeight}px` }}
          >
            {row(item, first + i)}
          </li>
        ))}
      </ul>
    </section>
  );
}
