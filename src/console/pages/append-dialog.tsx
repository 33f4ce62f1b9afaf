import { useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import { textToBase64 } from "../lib/bytes.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Field, SelectField, TextField } from "../ui/fields.tsx";
import { Tabs } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";

export interface AppendDialogProps {
  readonly ns: string;
  readonly stream: string;
  readonly partitions: number;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

interface AppendAnswer {
  readonly appends?: readonly { readonly partition: number; readonly last_offset: number }[];
  readonly last_offset?: number;
  readonly events?: readonly { readonly status: string; readonly partition: number; readonly offset: number }[];
}

/** Writes one record, or one CloudEvent. */
export function AppendDialog({ ns, stream, partitions, onClose, onDone }: AppendDialogProps) {
  const [kind, setKind] = useState("record");
  const [partition, setPartition] = useState("");
  const [key, setKey] = useState("");
  const [headers, setHeaders] = useState("");
  const [value, setValue] = useState("");
  const [type, setType] = useState("order.placed");
  const [source, setSource] = useState("/console");
  const [subject, setSubject] = useState("");
  const append = async () => {
    const place = { ns, stream, partition };
    if (kind === "record") await appendRecord(place, { key, headers, value });
    else await appendEvent(place, { type, source, subject, data: value });
    onDone();
  };
  return (
    <FormDialog title={`Append to ${stream}`} submit="Append" onClose={onClose} onSubmit={append}>
      <Tabs
        label="What to append"
        tabs={[
          ["record", "Record"],
          ["event", "CloudEvent"],
        ]}
        active={kind}
        onChange={setKind}
      />
      {kind === "record" ? (
        <div class="fields">
          <TextField label="Key" value={key} onInput={setKey} mono placeholder="none" />
          <PartitionField partitions={partitions} value={partition} onChange={setPartition} />
        </div>
      ) : (
        <div class="fields">
          <TextField label="Type" value={type} onInput={setType} mono required />
          <TextField label="Source" value={source} onInput={setSource} mono required />
          <TextField label="Subject" value={subject} onInput={setSubject} mono placeholder="none" />
          <PartitionField partitions={partitions} value={partition} onChange={setPartition} />
        </div>
      )}
      <TextArea
        label={kind === "record" ? "Value" : "Data as JSON"}
        rows={6}
        value={value}
        placeholder='{"total": 12}'
        onInput={setValue}
      />
      {kind === "record" ? (
        <TextArea label="Headers" hint="One a line: name: value" rows={2} value={headers} onInput={setHeaders} />
      ) : null}
    </FormDialog>
  );
}

interface Place {
  readonly ns: string;
  readonly stream: string;
  /** Empty: the server chooses. */
  readonly partition: string;
}

interface RecordText {
  readonly key: string;
  readonly headers: string;
  readonly value: string;
}

async function appendRecord({ ns, stream, partition }: Place, { key, headers, value }: RecordText): Promise<void> {
  const record = {
    value: textToBase64(value),
    ...(key === "" ? {} : { key: textToBase64(key) }),
    ...(headers.trim() === "" ? {} : { headers: parseHeaders(headers) }),
  };
  const at = partition === "" ? ["records"] : ["partitions", partition, "records"];
  const done = await call<AppendAnswer>(nsPath(ns, "streams", stream, ...at), { body: { records: [record] } });
  const where = done.appends?.[0] ?? { partition: Number(partition), last_offset: done.last_offset };
  toast(`Appended at partition ${where.partition}, offset ${where.last_offset}`);
}

interface EventText {
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly data: string;
}

async function appendEvent(
  { ns, stream, partition }: Place,
  { type, source, subject, data }: EventText,
): Promise<void> {
  const query = partition === "" ? "" : `?partition=${partition}`;
  const event = {
    specversion: "1.0",
    id: crypto.randomUUID(),
    source,
    type,
    ...(subject === "" ? {} : { subject }),
    time: new Date().toISOString(),
    ...(data.trim() === "" ? {} : { datacontenttype: "application/json", data: JSON.parse(data) as unknown }),
  };
  const done = await call<AppendAnswer>(nsPath(ns, "streams", stream, "events") + query, {
    body: event,
    headers: { "content-type": "application/cloudevents+json" },
  });
  const first = done.events?.[0];
  toast(`Event ${first?.status ?? "sent"} at partition ${first?.partition}, offset ${first?.offset}`);
}

interface TextAreaProps {
  readonly label: string;
  readonly hint?: string;
  readonly rows: number;
  readonly value: string;
  readonly placeholder?: string;
  readonly onInput: (value: string) => void;
}

function TextArea({ label, hint, onInput, ...area }: TextAreaProps) {
  return (
    <Field label={label} {...(hint === undefined ? {} : { hint })}>
      {(id) => (
        <textarea
          id={id}
          class="mono"
          spellcheck={false}
          {...area}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

function PartitionField({
  partitions,
  value,
  onChange,
}: {
  readonly partitions: number;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const numbers = Array.from({ length: Math.min(partitions, 1_000) }, (_, i) => [String(i), String(i)] as const);
  return <SelectField label="Partition" value={value} onChange={onChange} options={[["", "by the key"], ...numbers]} />;
}

function parseHeaders(text: string): { key: string; value: string }[] {
  return text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const at = line.indexOf(":");
      if (at <= 0) throw new Error(`${line} is no header: write name: value.`);
      return { key: line.slice(0, at).trim(), value: textToBase64(line.slice(at + 1).trim()) };
    });
}
