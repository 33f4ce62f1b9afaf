import { useMemo, useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { href, navigate, replaceParams, route } from "../lib/router.ts";
import type { Retention, StreamItem } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Badge, Button, Card, Empty, Loading, PageHead, ProblemNotice, TextField } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { nameHint, namePattern } from "./namespaces.tsx";

export function retentionText(retention: Retention | undefined): string {
  const parts = [
    retention?.max_age_ms == null ? "" : format.duration(retention.max_age_ms),
    retention?.max_bytes == null ? "" : format.bytes(retention.max_bytes),
  ].filter((part) => part !== "");
  return parts.length === 0 ? "kept for ever" : parts.join(", ");
}

export function StreamsPage({ ns }: { readonly ns: string }) {
  const [creating, setCreating] = useState(false);
  const filter = route.value.params.get("filter") ?? "";
  const { data, problem, reload } = useLoad(
    async (signal) => (await call<{ streams: StreamItem[] }>(nsPath(ns, "streams"), { signal })).streams,
    [ns],
  );
  const shown = useMemo(() => {
    const wanted = filter.toLowerCase();
    return wanted === "" ? (data ?? []) : (data ?? []).filter(({ name }) => name.toLowerCase().includes(wanted));
  }, [data, filter]);
  return (
    <>
      <PageHead title="Streams" note="Partitioned, append-only logs.">
        <Button icon="refresh" onClick={reload}>
          Reload
        </Button>
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          Create stream
        </Button>
      </PageHead>
      <ProblemNotice problem={problem} retry={reload} />
      {data === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : data.length === 0 ? (
        <Card>
          <Empty
            title={`No streams in ${ns}`}
            command={`curl -X POST ${location.origin}${nsPath(ns, "streams")} \\\n  -H 'content-type: application/json' -d '{"name":"orders","partitions":2}'`}
          >
            A stream keeps records in the order in which they were written.
          </Empty>
        </Card>
      ) : (
        <Card flush>
          <div class="filter-bar">
            <TextField
              label="Filter by name"
              hideLabel
              type="search"
              placeholder="Filter by name"
              value={filter}
              onInput={(value) => replaceParams({ filter: value })}
            />
            <span class="muted" role="status">
              {shown.length === data.length
                ? format.count(data.length)
                : `${format.count(shown.length)} of ${format.count(data.length)}`}
            </span>
          </div>
          {shown.length === 0 ? (
            <Empty title="No stream has such a name">Change the filter to see others.</Empty>
          ) : (
            <VirtualList
              label="Streams"
              items={shown}
              rowHeight={44}
              keyOf={(stream) => stream.name}
              row={(stream) => (
                <a class="list-row" href={href(["ns", ns, "streams", stream.name])}>
                  <span class="grow">{stream.name}</span>
                  <span class="muted">
                    {format.count(stream.partitions)} {stream.partitions === 1 ? "partition" : "partitions"}
                  </span>
                  {stream.retention === undefined ? null : <Badge>{retentionText(stream.retention)}</Badge>}
                </a>
              )}
            />
          )}
        </Card>
      )}
      {creating ? <CreateStream ns={ns} onClose={() => setCreating(false)} /> : null}
    </>
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
  const [name, setName] = useState("");
  const [partitions, setPartitions] = useState("1");
  const [retention, setRetention] = useState<RetentionText>({ age: "", bytes: "" });
  const create = async () => {
    const parsed = parseRetention(retention);
    const body = { name, partitions: Number(partitions), ...(parsed === null ? {} : { retention: parsed }) };
    await call(nsPath(ns, "streams"), { body });
    toast(`Created ${name}`);
    navigate(["ns", ns, "streams", name]);
  };
  return (
    <FormDialog title="Create stream" submit="Create" onClose={onClose} onSubmit={create}>
      <TextField
        label="Name"
        value={name}
        onInput={setName}
        required
        mono
        autoFocus
        pattern={namePattern}
        hint={nameHint}
      />
      <TextField
        label="Partitions"
        type="number"
        min={1}
        value={partitions}
        onInput={setPartitions}
        required
        hint="Order is kept within a partition; the number can't be changed later."
      />
      <RetentionFields value={retention} onChange={setRetention} />
    </FormDialog>
  );
}
