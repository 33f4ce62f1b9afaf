import { useMemo, useRef, useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { href, navigate } from "../lib/router.ts";
import type { LinkDetail } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { Awaited } from "../ui/awaited.tsx";
import { Chart } from "../ui/chart.tsx";
import { DeleteDialog } from "../ui/dialog.tsx";
import { JsonView } from "../ui/json-view.tsx";
import { Button, Card, PageHead, ProblemNotice, Stat, TableFrame } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { LinkStatus } from "./links.tsx";

const everyMs = 2_000;
const pointsMax = 300;
const countersShown = 200;

function totalLag(link: LinkDetail): number {
  return link.lag.reduce((sum, each) => sum + each.records, 0);
}

export function LinkPage({ ns, name }: { readonly ns: string; readonly name: string }) {
  const [deleting, setDeleting] = useState(false);
  const history = useRef<{ at: number; lag: number }[]>([]);
  const loaded = useLoad(
    async (signal) => {
      const link = await call<LinkDetail>(nsPath(ns, "links", name), { signal });
      history.current = [...history.current, { at: Date.now() / 1000, lag: totalLag(link) }].slice(-pointsMax);
      return link;
    },
    [ns, name],
    everyMs,
  );
  const points = history.current;
  const chart = useMemo(
    () => ({
      x: points.map((point) => point.at),
      series: [{ label: "records", colour: 3, values: points.map((point) => point.lag) }] as const,
    }),
    [points],
  );
  return (
    <>
      <PageHead title={name} crumbs={[{ label: "Links", href: href(["ns", ns, "links"]) }]}>
        {loaded.data === undefined ? null : <LinkStatus {...loaded.data} />}
        <Button kind="danger" icon="trash" needs="admin" onClick={() => setDeleting(true)}>
          Delete
        </Button>
      </PageHead>
      <Awaited loaded={loaded}>
        {(data) => (
          <>
            <Stopped link={data} />
            <LinkStats ns={ns} link={data} />
            <div class="two">
              <div class="stack">
                <Card>
                  <Chart label="Lag over time" x={chart.x} series={chart.series} format={format.short} height={200} />
                </Card>
                <Counters link={data} />
                <Errors link={data} />
              </div>
              <div class="stack">
                <Positions link={data} />
                <Card title="Options">
                  <JsonView value={data.options} label="Options" />
                </Card>
              </div>
            </div>
          </>
        )}
      </Awaited>
      {deleting ? (
        <DeleteDialog
          what="link"
          name={name}
          consequence="What it has counted goes with it; documents it wrote stay."
          onClose={() => setDeleting(false)}
          onDelete={async () => {
            await call(nsPath(ns, "links", name), { method: "DELETE" });
            toast(`Deleted ${name}`);
            navigate(["ns", ns, "links"]);
          }}
        />
      ) : null}
    </>
  );
}

function Stopped({ link: { error } }: { readonly link: LinkDetail }) {
  if (error === undefined) return null;
  const hint = "The link continues by itself once the cause is fixed.";
  return <ProblemNotice problem={{ status: 0, reason: "stopped", message: error, hint }} />;
}

function LinkStats({ ns, link }: { readonly ns: string; readonly link: LinkDetail }) {
  const { source, target, version, skipped, lost = 0 } = link;
  return (
    <dl class="stats">
      <Stat label="Lag" value={format.count(totalLag(link))} note="records" />
      <Stat label="Source" value={<a href={href(["ns", ns, "streams", source])}>{source}</a>} />
      <Stat label="Target" value={<Target ns={ns} link={link} />} note={target.kind} />
      {version === undefined ? null : <Stat label="Version" value={format.count(version)} />}
      {skipped === undefined ? null : (
        <Stat label="Skipped" value={format.count(skipped)} note="records that did not fit" />
      )}
      {lost === 0 ? null : <Stat label="Lost" value={format.count(lost)} note="trimmed before they were read" />}
    </dl>
  );
}

function Target({ ns, link }: { readonly ns: string; readonly link: LinkDetail }) {
  const { kind, name } = link.target;
  return kind === "collection" ? <a href={href(["ns", ns, "collections", name])}>{name}</a> : name;
}

function Counters({ link }: { readonly link: LinkDetail }) {
  const all = useMemo(
    () => Object.entries(link.counters ?? {}).sort(([, a], [, b]) => Number(b) - Number(a)),
    [link.counters],
  );
  if (link.counters === undefined) return null;
  return (
    <Card title={`Counters (${format.count(all.length)})`} flush>
      <TableFrame label="Counters">
        <thead>
          <tr>
            <th>Counter</th>
            <th class="number">Value</th>
          </tr>
        </thead>
        <tbody>
          {all.slice(0, countersShown).map(([name, value]) => (
            <tr key={name}>
              <td class="cell">{name}</td>
              <td class="number">{format.count(value)}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
      {all.length > countersShown ? <p class="muted pad">The {countersShown} largest are shown.</p> : null}
      {all.length === 0 ? <p class="muted pad">Nothing has been counted yet.</p> : null}
    </Card>
  );
}

function Errors({ link }: { readonly link: LinkDetail }) {
  if (link.errors === undefined || link.errors.length === 0) return null;
  return (
    <Card title="Skipped records" flush>
      <TableFrame label="Errors">
        <thead>
          <tr>
            <th class="number">Partition</th>
            <th class="number">Offset</th>
            <th>Reason</th>
          </tr>
        </thead>
        <tbody>
          {link.errors.map((each) => (
            <tr key={`${each.partition} ${each.offset}`}>
              <td class="number">{each.partition}</td>
              <td class="number">{each.offset}</td>
              <td>{each.reason}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </Card>
  );
}

function Positions({ link }: { readonly link: LinkDetail }) {
  const applied = new Map((link.applied ?? []).map((each) => [each.partition, each.offset]));
  return (
    <Card title="Partitions" flush>
      <TableFrame label="Partitions">
        <thead>
          <tr>
            <th>Partition</th>
            <th class="number">Next offset</th>
            <th class="number">Lag</th>
          </tr>
        </thead>
        <tbody>
          {link.lag.slice(0, 100).map((each) => (
            <tr key={each.partition}>
              <td>{each.partition}</td>
              <td class="number">{format.count(applied.get(each.partition) ?? 0)}</td>
              <td class="number">{format.count(each.records)}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </Card>
  );
}
