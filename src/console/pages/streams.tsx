import { useState } from "preact/hooks";
import { call, nsPath, postCommand } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { listStreams } from "../lib/pages.ts";
import { href } from "../lib/router.ts";
import type { Retention, StreamItem } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { TextField } from "../ui/fields.tsx";
import { CreateDialog, ListPage } from "../ui/list-page.tsx";
import { Badge } from "../ui/parts.tsx";

export function retentionText(retention: Retention | undefined): string {
  const parts = [
    retention?.max_age_ms == null ? "" : format.duration(retention.max_age_ms),
    retention?.max_bytes == null ? "" : format.bytes(retention.max_bytes),
  ].filter((part) => part !== "");
  return parts.length === 0 ? "kept for ever" : parts.join(", ");
}

export function StreamsPage({ ns }: { readonly ns: string }) {
  const list = useLoad<readonly StreamItem[]>((signal, show) => listStreams(ns, signal, show), [ns]);
  return (
    <ListPage
      title="Streams"
      note="Partitioned, append-only logs."
      what="stream"
      list={list}
      nameOf={({ name }) => name}
      empty={{
        title: `No streams in ${ns}`,
        text: "A stream keeps records in the order in which they were written.",
        command: postCommand(nsPath(ns, "streams"), '{"name":"orders","partitions":2}'),
      }}
      row={(stream) => (
        <a class="list-row" href={href(["ns", ns, "streams", stream.name])}>
          <span class="grow">{stream.name}</span>
          <span class="muted">{format.counted(stream.partitions, "partition")}</span>
          {stream.retention === undefined ? null : <Badge>{retentionText(stream.retention)}</Badge>}
        </a>
      )}
      create={(onClose) => <CreateStream ns={ns} onClose={onClose} />}
    />
  );
}

export interface RetentionText {
  readonly age: string;
  readonly bytes: string;
}

/** What a form says; throws what is wrong with it. */
export function parseRetention({ age, bytes }: RetentionText): Retention | null {
  const ageMs = age.trim() === "" ? null : format.parseDuration(age);
  const size = bytes.trim() === "" ? null : format.parseBytes(bytes);
  if (ageMs === undefined) throw new Error(`${age} is no duration: give a number and s, m, h or d.`);
  if (size === undefined) throw new Error(`${bytes} is no size: give a number and B, KiB, MiB or GiB.`);
  return ageMs === null && size === null ? null : { max_age_ms: ageMs, max_bytes: size };
}

export function RetentionFields({
  value,
  onChange,
}: {
  readonly value: RetentionText;
  readonly onChange: (value: RetentionText) => void;
}) {
  return (
    <div class="fields">
      <TextField
        label="Keep for"
        value={value.age}
        onInput={(age) => onChange({ ...value, age })}
        placeholder="for ever"
        hint="30m, 12h, 7d"
      />
      <TextField
        label="Keep up to"
        value={value.bytes}
        onInput={(bytes) => onChange({ ...value, bytes })}
        placeholder="any size"
        hint="64 MiB, 2 GiB a partition"
      />
    </div>
  );
}

function CreateStream({ ns, onClose }: { readonly ns: string; readonly onClose: () => void }) {
  const [partitions, setPartitions] = useState("1");
  const [retention, setRetention] = useState<RetentionText>({ age: "", bytes: "" });
  const create = async (name: string) => {
    const parsed = parseRetention(retention);
    const body = { name, partitions: Number(partitions), ...(parsed === null ? {} : { retention: parsed }) };
    await call(nsPath(ns, "streams"), { body });
  };
  return (
    <CreateDialog what="stream" onClose={onClose} onCreate={create} pathOf={(name) => ["ns", ns, "streams", name]}>
      <TextField
        label="Partitions"
        type="number"
        min={1}
        value={partitions}
        onInput={setPartitions}
        required
        hint="Records are ordered within a partition. The number can't be changed later."
      />
      <RetentionFields value={retention} onChange={setRetention} />
    </CreateDialog>
  );
}
