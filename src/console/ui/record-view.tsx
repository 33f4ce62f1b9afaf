import { useMemo, useState } from "preact/hooks";
import { asCloudEvent, asJson, asText, fromBase64, hexDump } from "../lib/bytes.ts";
import * as format from "../lib/format.ts";
import type { StoredRecord } from "../lib/types.ts";
import { JsonView } from "./json-view.tsx";
import { Button, CopyButton, DetailPane, Scroll, Tabs } from "./parts.tsx";

type View = "event" | "json" | "text" | "hex";

function headerText(value: string | undefined): string {
  if (value === undefined) return "null";
  const bytes = fromBase64(value);
  return asText(bytes) ?? Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}

/** One record, as the CloudEvent it holds, as JSON, text or bytes. */
export function RecordView({ record, onClose }: { readonly record: StoredRecord; readonly onClose: () => void }) {
  const { bytes, event, json, text } = useMemo(() => {
    const bytes = record.value === undefined ? new Uint8Array() : fromBase64(record.value);
    return { bytes, event: asCloudEvent(record), json: asJson(bytes), text: asText(bytes) };
  }, [record]);
  const [view, setView] = useState<View>(
    event !== undefined ? "event" : json !== undefined ? "json" : text !== undefined ? "text" : "hex",
  );
  const tabs = (
    [
      event === undefined ? undefined : (["event", "CloudEvent"] as const),
      json === undefined ? undefined : (["json", "JSON"] as const),
      text === undefined ? undefined : (["text", "Text"] as const),
      ["hex", "Hex"] as const,
    ] as const
  ).filter((tab) => tab !== undefined);
  return (
    <DetailPane label={`Record ${record.offset}`}>
      <header class="card-head">
        <h2>Record {format.count(record.offset)}</h2>
        <div class="actions">
          <CopyButton text={JSON.stringify(event ?? json ?? text ?? record, null, 2)} />
          <Button kind="quiet" icon="close" label="Close the record" onClick={onClose} />
        </div>
      </header>
      <dl class="pairs">
        <dt>Time</dt>
        <dd>{format.time(record.timestamp_ms)}</dd>
        <dt>Key</dt>
        <dd class="mono">{record.key === undefined ? "none" : headerText(record.key)}</dd>
        <dt>Size</dt>
        <dd>{record.value === undefined ? "no value" : format.bytes(bytes.length)}</dd>
        {(record.headers ?? []).map(({ key, value }, i) => (
          <HeaderRow key={i} name={key} value={headerText(value)} />
        ))}
      </dl>
      <Tabs label="View as" tabs={tabs} active={view} onChange={(id) => setView(id as View)} />
      {view === "event" ? <JsonView value={event} label="CloudEvent" /> : null}
      {view === "json" ? <JsonView value={json} label="Value as JSON" /> : null}
      {view === "text" ? <Raw text={text ?? ""} label="Value as text" /> : null}
      {view === "hex" ? <Raw text={hexDump(bytes)} label="Value as bytes" hex /> : null}
    </DetailPane>
  );
}

function HeaderRow({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt class="mono">{name}</dt>
      <dd class="mono">{value}</dd>
    </>
  );
}

function Raw({ text, label, hex = false }: { readonly text: string; readonly label: string; readonly hex?: boolean }) {
  return (
    <Scroll class={hex ? "code hex" : "code"} label={label}>
      <pre>
        <code>{text}</code>
      </pre>
    </Scroll>
  );
}
