import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem } from "../lib/api.ts";
import { may, type Need } from "../lib/session.ts";
import { Icon, type IconName } from "./icon.tsx";

type Children = { readonly children?: ComponentChildren };

export interface ButtonProps extends Children {
  readonly onClick?: () => void;
  readonly kind?: "primary" | "plain" | "danger" | "quiet";
  readonly type?: "button" | "submit";
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly icon?: IconName;
  readonly label?: string;
  readonly pressed?: boolean;
  readonly small?: boolean;
  /** It is not offered to callers who may not do so much. */
  readonly needs?: Need;
}

export function Button(props: ButtonProps) {
  if (props.needs !== undefined && !may(props.needs)) return null;
  const { onClick, kind = "plain", type = "button", busy = false, disabled = false, icon, label, children } = props;
  return (
    <button
      type={type}
      class={`button ${kind}${props.small ? " small" : ""}${children === undefined ? " only-icon" : ""}`}
      onClick={onClick}
      disabled={disabled || busy}
      aria-busy={busy}
      {...(label === undefined ? {} : { "aria-label": label, title: label })}
      {...(props.pressed === undefined ? {} : { "aria-pressed": props.pressed })}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}

export function PageHead({
  title,
  crumbs,
  note,
  children,
}: Children & {
  readonly title: string;
  readonly crumbs?: readonly { readonly label: string; readonly href: string }[];
  readonly note?: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title} · native-engine`;
  }, [title]);
  return (
    <header class="page-head">
      <div class="page-title">
        {crumbs === undefined ? null : (
          <nav aria-label="Breadcrumb" class="crumbs">
            {crumbs.map(({ label, href }) => (
              <span key={href}>
                <a href={href}>{label}</a>
                <span aria-hidden="true"> / </span>
              </span>
            ))}
          </nav>
        )}
        <h1>{title}</h1>
        {note === undefined ? null : <p class="muted">{note}</p>}
      </div>
      <div class="actions">{children}</div>
    </header>
  );
}

export function Card({
  title,
  actions,
  children,
  flush = false,
}: Children & { readonly title?: string; readonly actions?: ComponentChildren; readonly flush?: boolean }) {
  return (
    <section class={`card${flush ? " flush" : ""}`}>
      {title === undefined ? null : (
        <header class="card-head">
          <h2>{title}</h2>
          <div class="actions">{actions}</div>
        </header>
      )}
      <div class="card-body">{children}</div>
    </section>
  );
}

export type Tone = "good" | "warn" | "bad" | "plain" | "accent";

export function Badge({ tone = "plain", children }: Children & { readonly tone?: Tone }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Stat({
  label,
  value,
  note,
}: {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
}) {
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd>
        <span class="stat-value">{value}</span>
        {note === undefined ? null : <span class="stat-note">{note}</span>}
      </dd>
    </div>
  );
}

export function ProblemNotice({
  problem,
  retry,
}: {
  readonly problem: Problem | undefined;
  readonly retry?: () => void;
}) {
  if (problem === undefined) return null;
  return (
    <div class="notice bad" role="alert">
      <Icon name="alert" />
      <div>
        <p>
          <code>{problem.reason}</code>
          {problem.status > 0 ? <span class="muted"> {problem.status}</span> : null}
          {problem.field === undefined ? null : (
            <span>
              {" "}
              in <code>{problem.field}</code>
            </span>
          )}
        </p>
        <p>{problem.message}</p>
        {problem.hint === undefined ? null : <p class="muted">{problem.hint}</p>}
        {problem.status >= 500 && problem.requestId !== undefined ? (
          <p class="muted">
            Request <code>{problem.requestId}</code>
          </p>
        ) : null}
      </div>
      {retry === undefined ? null : (
        <Button small onClick={retry}>
          Try again
        </Button>
      )}
    </div>
  );
}

export function Loading({ label = "Loading" }: { readonly label?: string }) {
  return (
    <div class="loading" role="status">
      <span class="bar" aria-hidden="true" />
      <span class="muted">{label}…</span>
    </div>
  );
}

export function CopyButton({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [done, setDone] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    timer.current = setTimeout(() => setDone(false), 1500);
  };
  return (
    <Button small kind="quiet" icon={done ? "check" : "copy"} onClick={() => void copy()}>
      <span aria-live="polite">{done ? "Copied" : label}</span>
    </Button>
  );
}

/** What scrolls in itself must be reached by the keyboard, and says what it is. */
export function Scroll({
  label,
  class: name = "",
  children,
}: Children & { readonly label: string; readonly class?: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section class={`scroll ${name}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** One of a list, beside it or on a phone above it. What was asked for is brought into view. */
export function DetailPane({ label, children }: Children & { readonly label: string }) {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => ref.current?.scrollIntoView({ block: "nearest" }), [label]);
  return (
    <section class="record" aria-label={label} ref={ref}>
      {children}
    </section>
  );
}

export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <figure class="code-block">
      <Scroll label={label}>
        <pre>
          <code>{text}</code>
        </pre>
      </Scroll>
      <CopyButton text={text} />
    </figure>
  );
}

/** What there is to do where there is nothing yet. */
export function Empty({
  title,
  children,
  command,
  action,
}: Children & { readonly title: string; readonly command?: string; readonly action?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p class="muted">{children}</p>
      {action === undefined ? null : <div class="actions center">{action}</div>}
      {command === undefined ? null : (
        <>
          <p class="muted small-text">or from a shell</p>
          <CodeBlock text={command} label="Command" />
        </>
      )}
    </div>
  );
}

export interface TabsProps {
  readonly label: string;
  readonly tabs: readonly (readonly [id: string, label: ComponentChildren])[];
  readonly active: string;
  readonly onChange: (id: string) => void;
}

/** Arrow keys move between tabs, as in every tab list. */
export function Tabs({ label, tabs, active, onChange }: TabsProps) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex(([id]) => id === active);
    const next = tabs[(at + step + tabs.length) % tabs.length]![0];
    onChange(next);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  return (
    <div role="tablist" aria-label={label} class="tabs" onKeyDown={move}>
      {tabs.map(([id, text]) => (
        <button
          key={id}
          type="button"
          role="tab"
          aria-selected={id === active}
          tabIndex={id === active ? 0 : -1}
          onClick={() => onChange(id)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

/** A table that scrolls sideways in itself, never the page. */
export function TableFrame({ label, children }: Children & { readonly label: string }) {
  return (
    <Scroll class="table-frame" label={label}>
      <table>{children}</table>
    </Scroll>
  );
}
