import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, call, nsPath, type Problem, problemOf } from "../lib/api.ts";
import { preview } from "../lib/bytes.ts";
import * as format from "../lib/format.ts";
import { href, navigate, replaceParams, route } from "../lib/router.ts";
import { serverEvents, tailError } from "../lib/sse.ts";
import type { FetchPage, PartitionInfo, StoredRecord, StreamDetail } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { DeleteDialog, FormDialog } from "../ui/dialog.tsx";
import {
  Badge,
  Button,
  Card,
  Empty,
  Loading,
  PageHead,
  ProblemNotice,
  SelectField,
  Stat,
  TableFrame,
  TextField,
} from "../ui/parts.tsx";
import { RecordView } from "../ui/record-view.tsx";
import { toast } from "../ui/toast.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { AppendDialog } from "./append-dialog.tsx";
import { parseRetention, RetentionFields, retentionText } from "./streams.tsx";

/** What is shown when the address does not say from where. */
const latestRecords = 100;
const pageBytes = 512 * 1024;
const tailRecordsMax = 2_000;

export function StreamPage({ ns, name }: { readonly ns: string; readonly name: string }) {
  const [dialog, setDialog] = useState<"append" | "retention" | "delete" | undefined>();
  const detail = useLoad((signal) => call<StreamDetail>(nsPath(ns, "streams", name), { signal }), [ns, name], 5_000);
  const close = () => setDialog(undefined);
  const { data } = detail;
  const head = (
    <PageHead title={name} crumbs={[{ label: "Streams", href: href(["ns", ns, "streams"]) }]}>
      <Button kind="primary" icon="plus" needs="write" onClick={() => setDialog("append")}>
        Append
      </Button>
      <Button icon="edit" needs="admin" onClick={() => setDialog("retention")} disabled={data === undefined}>
        Retention
      </Button>
      <Button kind="danger" icon="trash" needs="admin" onClick={() => setDialog("delete")}>
        Delete
      </Button>
    </PageHead>
  );
  if (data === undefined) {
    return (
      <>
        {head}
        {detail.problem === undefined ? <Loading /> : <ProblemNotice problem={detail.problem} retry={detail.reload} />}
      </>
    );
  }
  const records = data.partitions.reduce((sum, each) => sum + each.high_watermark - each.log_start_offset, 0);
  return (
    <>
      {head}
      <dl class="stats">
        <Stat label="Records" value={format.count(records)} />
        <Stat label="Partitions" value={format.count(data.partitions.length)} />
        <Stat label="Retention" value={retentionText(data.retention)} />
        <Stat label="Stream id" value={data.id} />
      </dl>
      <ProblemNotice problem={detail.problem} />
      <Records ns={ns} name={name} partitions={data.partitions} />
      <Partitions partitions={data.partitions} />
      {dialog === "append" ? (
        <AppendDialog
          ns={ns}
          stream={name}
          partitions={data.partitions.length}
          onClose={close}
          onDone={detail.reload}
        />
      ) : null}
      {dialog === "retention" ? (
        <RetentionDialog ns={ns} name={name} detail={data} onClose={close} onDone={detail.reload} />
      ) : null}
      {dialog === "delete" ? (
        <DeleteDialog
          what="stream"
          name={name}
          consequence={`Its ${format.count(records)} records go with it.`}
          onClose={close}
          onDelete={async () => {
            await call(nsPath(ns, "streams", name), { method: "DELETE" });
            toast(`Deleted ${name}`);
            navigate(["ns", ns, "streams"]);
          }}
        />
      ) : null}
    </>
  );
}

function Partitions({ partitions }: { readonly partitions: readonly PartitionInfo[] }) {
  const shown = partitions.slice(0, 100);
  return (
    <Card title="Partitions" flush>
      <TableFrame label="Partitions">
        <thead>
          <tr>
            <th>Partition</th>
            <th class="number">First offset</th>
            <th class="number">High watermark</th>
            <th class="number">Records</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((each) => (
            <tr key={each.partition}>
              <td>{each.partition}</td>
              <td class="number">{format.count(each.log_start_offset)}</td>
              <td class="number">{format.count(each.high_watermark)}</td>
              <td class="number">{format.count(each.high_watermark - each.log_start_offset)}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
      {shown.length === partitions.length ? null : (
        <p class="muted pad">
          The first {shown.length} of {format.count(partitions.length)} are shown.
        </p>
      )}
    </Card>
  );
}

interface Tail {
  readonly records: readonly StoredRecord[];
  readonly problem: Problem | undefined;
}

/** Follows a partition; the newest records replace the oldest once there are many. */
function useTail(path: string, from: number, on: boolean): Tail {
  const [tail, setTail] = useState<Tail>({ records: [], problem: undefined });
  // Depends on this alone: where a tail begins does not move while it runs
  useEffect(() => {
    if (!on) return;
    const stop = new AbortController();
    setTail({ records: [], problem: undefined });
    const follow = async () => {
      let next = from;
      while (!stop.signal.aborted) {
        for await (const events of serverEvents(`${path}?offset=${next}`, stop.signal)) {
          const failed = events.find(({ event }) => event === "error");
          if (failed !== undefined) throw tailError(failed.data);
          const records = events.map(({ data }) => JSON.parse(data) as StoredRecord);
          next = Number(events.at(-1)!.id);
          setTail((was) => ({ ...was, records: [...was.records, ...records].slice(-tailRecordsMax) }));
        }
      }
    };
    follow().catch((error: unknown) => {
      if (!stop.signal.aborted) setTail((was) => ({ ...was, problem: problemOf(error) }));
    });
    return () => stop.abort();
  }, [path, on]);
  return tail;
}

/** `datetime-local` wants local time without a zone. */
function localInput(ms: number): string {
  return format.time(ms).slice(0, 19).replace(" ", "T");
}

function Records({
  ns,
  name,
  partitions,
}: {
  readonly ns: string;
  readonly name: string;
  readonly partitions: readonly PartitionInfo[];
}) {
  const { params } = route.value;
  const partition = Math.min(Number(params.get("partition") ?? 0) || 0, partitions.length - 1);
  const live = params.get("live") === "1";
  const info = partitions[partition]!;
  const [selected, setSelected] = useState<StoredRecord | undefined>();
  const path = nsPath(ns, "streams", name, "partitions", partition, "records");
  const latest = Math.max(info.log_start_offset, info.high_watermark - latestRecords);
  const offset = params.get("offset");
  const time = params.get("time");
  const tail = useTail(path, latest, live);
  // Without a place in the address the newest are shown, and again when there are newer ones.
  const key = offset ?? time ?? `latest ${info.high_watermark}`;
  const page = useLoad(
    async (signal) => {
      if (live) return undefined;
      const from = time === null ? `offset=${offset ?? latest}` : `timestamp_ms=${Date.parse(time)}`;
      return call<FetchPage>(`${path}?${from}&max_bytes=${pageBytes}`, { signal });
    },
    [path, key, live],
  );
  const records = live ? tail.records : (page.data?.records ?? []);
  const problem = live ? tail.problem : page.problem;
  const goTo = (change: { offset?: string | number; time?: string; live?: string; partition?: string }) => {
    setSelected(undefined);
    replaceParams({ offset: undefined, time: undefined, live: undefined, ...change });
  };
  const first = records[0]?.offset ?? info.high_watermark;
  const next = live ? info.high_watermark : (page.data?.next_offset ?? info.high_watermark);
  return (
    <Card flush>
      <div class="filter-bar wrap">
        <SelectField
          label="Partition"
          value={String(partition)}
          onChange={(value) => goTo({ partition: value })}
          options={partitions.slice(0, 1_000).map((each) => [String(each.partition), String(each.partition)])}
        />
        <Seek offset={offset ?? ""} time={time === null ? "" : localInput(Date.parse(time))} goTo={goTo} />
        <div class="actions">
          <Button small onClick={() => goTo({ offset: info.log_start_offset })}>
            Oldest
          </Button>
          <Button
            small
            disabled={live || first <= info.log_start_offset}
            onClick={() => goTo({ offset: Math.max(info.log_start_offset, first - latestRecords) })}
          >
            Earlier
          </Button>
          <Button small disabled={live || next >= info.high_watermark} onClick={() => goTo({ offset: next })}>
            Later
          </Button>
          <Button small onClick={() => goTo({})}>
            Newest
          </Button>
          <Button small icon={live ? "pause" : "play"} pressed={live} onClick={() => goTo(live ? {} : { live: "1" })}>
            Live tail
          </Button>
        </div>
      </div>
      {problem === undefined ? null : (
        <div class="pad">
          <ProblemNotice problem={problem} retry={page.reload} />
          {problem.reason === "offset_out_of_range" ? (
            <p class="muted">
              The partition holds {format.count(info.log_start_offset)} to {format.count(info.high_watermark)}.
            </p>
          ) : null}
        </div>
      )}
      <RecordList
        ns={ns}
        name={name}
        records={records}
        live={live}
        follow={live || (offset === null && time === null)}
        loading={page.loading}
        selected={selected}
        onSelect={setSelected}
      />
    </Card>
  );
}

function Seek({
  offset,
  time,
  goTo,
}: {
  readonly offset: string;
  readonly time: string;
  readonly goTo: (change: { offset?: string; time?: string }) => void;
}) {
  const [at, setAt] = useState(offset);
  const [when, setWhen] = useState(time);
  useEffect(() => setAt(offset), [offset]);
  useEffect(() => setWhen(time), [time]);
  return (
    <form
      class="seek"
      onSubmit={(event) => {
        event.preventDefault();
        if (when !== "" && when !== time) goTo({ time: new Date(when).toISOString() });
        else if (at.trim() !== "") goTo({ offset: at.trim() });
        else goTo({});
      }}
    >
      <TextField label="From offset" type="number" min={0} value={at} onInput={setAt} placeholder="newest" />
      <TextField label="or from a time" type="datetime-local" step="1" value={when} onInput={setWhen} />
      <Button type="submit">Seek</Button>
    </form>
  );
}

interface RecordListProps {
  readonly ns: string;
  readonly name: string;
  readonly records: readonly StoredRecord[];
  readonly live: boolean;
  /** Whether the end is what matters. */
  readonly follow: boolean;
  readonly loading: boolean;
  readonly selected: StoredRecord | undefined;
  readonly onSelect: (record: StoredRecord | undefined) => void;
}

function RecordList({ ns, name, records, live, follow, loading, selected, onSelect }: RecordListProps) {
  const command = useMemo(() => appendCommand(ns, name), [ns, name]);
  if (records.length === 0) {
    if (loading && !live)
      return (
        <div class="pad">
          <Loading />
        </div>
      );
    return (
      <Empty title={live ? "Waiting for records" : "No records here"} command={command}>
        {live ? "What is appended to this partition appears at once." : "Append one, or look from another offset."}
      </Empty>
    );
  }
  return (
    <div class={selected === undefined ? "" : "split"}>
      <VirtualList
        label={live ? "Live records" : "Records"}
        items={records}
        rowHeight={36}
        follow={follow}
        keyOf={(record) => record.offset}
        row={(record) => (
          <button
            type="button"
            class="list-row"
            aria-pressed={record.offset === selected?.offset}
            onClick={() => onSelect(record.offset === selected?.offset ? undefined : record)}
          >
            <span class="offset">{record.offset}</span>
            {record.key === undefined ? null : <span class="key">{preview(record.key, 40)}</span>}
            {record.headers?.some(({ key }) => key === "ce_type") ? <Badge tone="accent">event</Badge> : null}
            <span class="grow mono">{preview(record.value)}</span>
            <span class="time">{format.time(record.timestamp_ms)}</span>
          </button>
        )}
      />
      {selected === undefined ? null : (
        <RecordView key={selected.offset} record={selected} onClose={() => onSelect(undefined)} />
      )}
    </div>
  );
}

function appendCommand(ns: string, name: string): string {
  return `curl -X POST ${location.origin}${nsPath(ns, "streams", name, "records")} \\\n  -H 'content-type: application/json' -d '{"records":[{"key":"YWRh","value":"eyJ0b3RhbCI6MTJ9"}]}'`;
}

interface RetentionDialogProps {
  readonly ns: string;
  readonly name: string;
  readonly detail: StreamDetail;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function RetentionDialog({ ns, name, detail, onClose, onDone }: RetentionDialogProps) {
  const { max_age_ms: age, max_bytes: size } = detail.retention;
  const [retention, setRetention] = useState({
    age: age === null ? "" : `${age / 1000}s`,
    bytes: size === null ? "" : `${size} B`,
  });
  const save = async () => {
    const parsed = parseRetention(retention);
    const changed = await call<StreamDetail>(nsPath(ns, "streams", name), {
      method: "PATCH",
      body: { retention: parsed },
    });
    if (changed.id !== detail.id)
      throw new ApiError({ status: 409, reason: "conflict", message: "The stream was made anew meanwhile." });
    onDone();
    toast("Retention changed");
  };
  return (
    <FormDialog title="Retention" submit="Save" onClose={onClose} onSubmit={save}>
      <p class="muted">
        Records past either limit are trimmed from the start of each partition. Leave both empty to keep them forever.
      </p>
      <RetentionFields value={retention} onChange={setRetention} />
    </FormDialog>
  );
}
