import { useMemo, useRef } from "preact/hooks";
import { postCommand, request } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { parseScrape, quantile, rate, type Sample, type Scrape, sum } from "../lib/prometheus.ts";
import { href } from "../lib/router.ts";
import { instance, namespace, namespaces } from "../lib/session.ts";
import { useLoad } from "../lib/use-load.ts";
import { Chart, type Series } from "../ui/chart.tsx";
import { Badge, Card, Empty, Loading, PageHead, ProblemNotice, Stat } from "../ui/parts.tsx";

const everyMs = 2_000;
/** Ten minutes. */
const pointsMax = 300;

/** One point of every chart. */
interface Point {
  readonly at: number;
  readonly good: number;
  readonly refused: number;
  readonly failed: number;
  readonly p50: number | null;
  readonly p99: number | null;
  readonly sync: number | null;
  readonly records: number;
  readonly lag: number;
  readonly disk: number;
  readonly memory: number;
  readonly cpu: number;
  readonly loop: number;
}

interface History {
  readonly points: readonly Point[];
  readonly last: { readonly scrape: Scrape; readonly atMs: number } | undefined;
}

/** Kept over visits of other pages, so that coming back shows what was. */
let pastPoints: History = { points: [], last: undefined };

/** Watching counts as no traffic. */
const isTraffic = (labels: Sample["labels"]) =>
  labels["route"] !== "/metrics" &&
  labels["route"] !== "/health" &&
  labels["route"] !== "/ready" &&
  labels["route"] !== "/console/*";
const ofStatus = (first: string) => (labels: Sample["labels"]) =>
  isTraffic(labels) && labels["status"]?.startsWith(first) === true;

function pointOf(before: Scrape, now: Scrape, elapsedS: number, atMs: number): Point {
  const requests = (first: string) => rate(before, now, elapsedS, "service_http_requests_total", ofStatus(first));
  const rpcs = rate(before, now, elapsedS, "service_rpc_requests_total", ({ code }) => code === "ok" || code === "");
  const latency = (q: number) => quantile(before, now, "service_http_request_seconds", q, isTraffic) ?? null;
  return {
    at: atMs / 1000,
    good: requests("2") + requests("3") + rpcs,
    refused: requests("4"),
    failed: requests("5"),
    p50: latency(0.5),
    p99: latency(0.99),
    sync: quantile(before, now, "service_log_sync_seconds", 0.99) ?? null,
    records: Math.max(0, sum(now, "service_log_high_watermark") - sum(before, "service_log_high_watermark")) / elapsedS,
    lag: sum(now, "service_link_lag_records"),
    disk: sum(now, "service_store_disk_bytes"),
    memory: sum(now, "process_resident_memory_bytes"),
    cpu: rate(before, now, elapsedS, "process_cpu_seconds_total"),
    loop: sum(now, "nodejs_eventloop_lag_p99_seconds"),
  };
}

async function scrape(signal: AbortSignal): Promise<History> {
  const text = await (await request("/metrics", { signal })).text();
  const now = { scrape: parseScrape(text), atMs: Date.now() };
  const { last, points } = pastPoints;
  const elapsedS = last === undefined ? 0 : (now.atMs - last.atMs) / 1000;
  // After a long pause the rates of the gap would look like those of a moment.
  const next =
    last === undefined || elapsedS > 60
      ? { points: [], last: now }
      : { points: [...points, pointOf(last.scrape, now.scrape, elapsedS, now.atMs)].slice(-pointsMax), last: now };
  pastPoints = next;
  return next;
}

export function OverviewPage() {
  const metrics = useLoad(scrape, [], everyMs);
  const ready = useLoad(async (signal) => (await request("/ready", { signal })).ok, [], 5_000);
  const history = metrics.data ?? pastPoints;
  const started = useRef(0);
  const now = history.last?.scrape;
  if (now !== undefined) started.current = sum(now, "process_start_time_seconds") * 1000;
  const last = history.points.at(-1);
  const isNew = namespaces.value !== undefined && namespaces.value.length === 0;
  return (
    <>
      <PageHead title="Overview" note={instance.value?.name}>
        <Health ready={ready.data} reachable={ready.problem?.reason !== "unreachable"} />
      </PageHead>
      {isNew ? <FirstSteps /> : null}
      {metrics.problem === undefined ? null : <ProblemNotice problem={metrics.problem} retry={metrics.reload} />}
      {now === undefined ? (
        metrics.problem === undefined ? (
          <Loading />
        ) : null
      ) : (
        <>
          <dl class="stats">
            <Stat
              label="Requests"
              value={`${format.short((last?.good ?? 0) + (last?.refused ?? 0) + (last?.failed ?? 0))}/s`}
            />
            <Stat label="Latency p99" value={last?.p99 == null ? "–" : format.seconds(last.p99)} />
            <Stat label="Link lag" value={format.short(sum(now, "service_link_lag_records"))} note="records" />
            <Stat label="Store on disk" value={format.bytes(sum(now, "service_store_disk_bytes"))} />
            <Stat
              label="Connections"
              value={format.count(sum(now, "service_connections"))}
              note={`${format.count(sum(now, "service_requests_in_flight"))} in flight`}
            />
            <Stat label="Up for" value={started.current === 0 ? "–" : format.duration(Date.now() - started.current)} />
          </dl>
          <Charts points={history.points} />
        </>
      )}
    </>
  );
}

function Health({ ready, reachable }: { readonly ready: boolean | undefined; readonly reachable: boolean }) {
  if (!reachable) return <Badge tone="bad">Not reachable</Badge>;
  if (ready === undefined) return <Badge>Checking</Badge>;
  return <Badge tone={ready ? "good" : "warn"}>{ready ? "Ready" : "Not ready"}</Badge>;
}

function Charts({ points }: { readonly points: readonly Point[] }) {
  const charts = useMemo(() => {
    const series = (label: string, colour: Series["colour"], pick: (point: Point) => number | null): Series => ({
      label,
      colour,
      values: points.map(pick),
    });
    const perSecond = (value: number) => `${format.short(value)}/s`;
    return [
      {
        label: "Requests",
        format: perSecond,
        series: [
          series("answered", 1, (point) => point.good),
          series("refused", 3, (point) => point.refused),
          series("failed", 4, (point) => point.failed),
        ],
      },
      {
        label: "Latency",
        format: format.seconds,
        series: [series("p50", 2, (point) => point.p50), series("p99", 1, (point) => point.p99)],
      },
      { label: "Records appended", format: perSecond, series: [series("all streams", 1, (point) => point.records)] },
      {
        label: "Sync of the log, p99",
        format: format.seconds,
        series: [series("group commit", 2, (point) => point.sync)],
      },
      { label: "Link lag", format: format.short, series: [series("records", 3, (point) => point.lag)] },
      { label: "Store on disk", format: format.bytes, series: [series("bytes", 1, (point) => point.disk)] },
      { label: "Memory", format: format.bytes, series: [series("resident", 2, (point) => point.memory)] },
      {
        label: "Processor",
        format: (value: number) => `${Math.round(value * 100)}%`,
        series: [series("of one core", 1, (point) => point.cpu)],
      },
      {
        label: "Event loop delay",
        format: format.seconds,
        series: [series("p99", 3, (point) => point.loop)],
      },
    ];
  }, [points]);
  const x = useMemo(() => points.map((point) => point.at), [points]);
  return (
    <div class="grid">
      {charts.map((chart) => (
        <Card key={chart.label}>
          <Chart label={chart.label} x={x} series={chart.series} format={chart.format} />
        </Card>
      ))}
    </div>
  );
}

function FirstSteps() {
  return (
    <Card>
      <Empty
        title="Nothing here yet"
        command={postCommand("/v1/namespaces", '{"name":"shop"}')}
        action={
          <a class="button primary" href={href(["namespaces"], { create: 1 })}>
            Create a namespace
          </a>
        }
      >
        A namespace groups streams, links and collections. Create the first one
        {namespace.value === "" ? "" : ", then a stream in it"}.
      </Empty>
    </Card>
  );
}
