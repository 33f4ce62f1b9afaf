import { useEffect, useMemo, useState } from "preact/hooks";
import { call, nsPath, type Problem, problemOf } from "../lib/api.ts";
import { preview } from "../lib/bytes.ts";
import * as format from "../lib/format.ts";
import { replaceParams, route } from "../lib/router.ts";
import { serverEvents, tailError } from "../lib/sse.ts";
import type { FetchPage, PartitionInfo, StoredRecord } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { SelectField, TextField } from "../ui/fields.tsx";
import { Badge, Button, Card, Empty, Loading, ProblemNotice } from "../ui/parts.tsx";
import { RecordView } from "../ui/record-view.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";

/** What is shown when the address does not say from where. */
const latestRecords = 100;
const pageBytes = 512 * 1024;
const tailRecordsMax = 2_000;

type GoTo = (change: { offset?: string | number; time?: string; live?: string; partition?: string }) => void;

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

interface RecordsProps {
  readonly ns: string;
  readonly name: string;
  readonly partitions: readonly PartitionInfo[];
}

/** The records of one partition, from a place that the address names or as they come. */
export function Records({ ns, name, partitions }: RecordsProps) {
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
  const goTo: GoTo = (change) => {
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
        <Moves info={info} first={first} next={next} live={live} goTo={goTo} />
      </div>
      <RecordsProblem problem={problem} info={info} retry={page.reload} />
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

interface MovesProps {
  readonly info: PartitionInfo;
  /** Offsets of the first record that is shown, and of the one after the last. */
  readonly first: number;
  readonly next: number;
  readonly live: boolean;
  readonly goTo: GoTo;
}

function Moves({ info, first, next, live, goTo }: MovesProps) {
  const { log_start_offset: start, high_watermark: end } = info;
  return (
    <div class="actions">
      <Button small onClick={() => goTo({ offset: start })}>
        Oldest
      </Button>
      <Button
        small
        disabled={live || first <= start}
        onClick={() => goTo({ offset: Math.max(start, first - latestRecords) })}
      >
        Earlier
      </Button>
      <Button small disabled={live || next >= end} onClick={() => goTo({ offset: next })}>
        Later
      </Button>
      <Button small onClick={() => goTo({})}>
        Newest
      </Button>
      <Button small icon={live ? "pause" : "play"} pressed={live} onClick={() => goTo(live ? {} : { live: "1" })}>
        Live tail
      </Button>
    </div>
  );
}

interface RecordsProblemProps {
  readonly problem: Problem | undefined;
  readonly info: PartitionInfo;
  readonly retry: () => void;
}

function RecordsProblem({ problem, info, retry }: RecordsProblemProps) {
  if (problem === undefined) return null;
  return (
    <div class="pad">
      <ProblemNotice problem={problem} retry={retry} />
      {problem.reason === "offset_out_of_range" ? (
        <p class="muted">
          The partition holds {format.count(info.log_start_offset)} to {format.count(info.high_watermark)}.
        </p>
      ) : null}
    </div>
  );
}

interface SeekProps {
  readonly offset: string;
  readonly time: string;
  readonly goTo: GoTo;
}

function Seek({ offset, time, goTo }: SeekProps) {
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
