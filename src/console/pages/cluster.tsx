import { useMemo, useRef } from "preact/hooks";
import { call } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import type { ClusterInfo, ClusterNode } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { Chart, type Series } from "../ui/chart.tsx";
import { Badge, Card, Loading, PageHead, ProblemNotice, Stat, TableFrame } from "../ui/parts.tsx";

const everyMs = 2_000;
/** Ten minutes. */
const pointsMax = 300;
/** Nodes with a line of their own in the chart. */
const linesMax = 4;

interface Point {
  readonly at: number;
  readonly lags: Readonly<Record<string, number>>;
}

/** Who owns the cluster, and how far the others are behind. */
export function ClusterPage() {
  const points = useRef<readonly Point[]>([]);
  const cluster = useLoad(
    async (signal) => {
      const found = await call<ClusterInfo>("/v1/cluster", { signal });
      const lags = Object.fromEntries(found.nodes.map(({ node, lag }) => [node, lag]));
      points.current = [...points.current, { at: Date.now() / 1000, lags }].slice(-pointsMax);
      return found;
    },
    [],
    everyMs,
  );
  const { data, problem } = cluster;
  return (
    <>
      <PageHead title="Cluster" note="One node owns the log and writes; the others follow it." />
      {problem === undefined ? null : <ProblemNotice problem={problem} retry={cluster.reload} />}
      {data === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : (
        <>
          <dl class="stats">
            <Stat label="Owner" value={data.owner} />
            <Stat label="Epoch" value={format.count(data.epoch)} />
            <Stat label="Position" value={format.count(data.position)} note="commits" />
            <Stat
              label="Snapshot"
              value={data.snapshot_position === 0 ? "none" : format.count(data.snapshot_position)}
              note={data.snapshot_position === 0 ? undefined : `${format.seconds(data.snapshot_age_ms / 1000)} old`}
            />
            <Stat label="Nodes" value={format.count(data.nodes.length)} />
          </dl>
          <Nodes nodes={data.nodes} />
          <Lags points={points.current} nodes={data.nodes} />
        </>
      )}
    </>
  );
}

function Nodes({ nodes }: { readonly nodes: readonly ClusterNode[] }) {
  return (
    <TableFrame label="Nodes">
      <thead>
        <tr>
          <th>Node</th>
          <th>Role</th>
          <th>Address</th>
          <th>Version</th>
          <th class="num">Position</th>
          <th class="num">Lag</th>
          <th class="num">Heard of</th>
          <th>State</th>
        </tr>
      </thead>
      <tbody>
        {nodes.map((each) => (
          <tr key={each.node}>
            <td>{each.node}</td>
            <td>{each.role}</td>
            <td class="mono">{each.address}</td>
            <td>{each.version ?? ""}</td>
            <td class="num">{format.count(each.position)}</td>
            <td class="num">{format.count(each.lag)}</td>
            <td class="num">{format.seconds(each.silent_ms / 1000)} ago</td>
            <td>
              <Badge tone={each.problem === null ? "good" : "bad"}>{each.problem ?? "well"}</Badge>
            </td>
          </tr>
        ))}
      </tbody>
    </TableFrame>
  );
}

function Lags({ points, nodes }: { readonly points: readonly Point[]; readonly nodes: readonly ClusterNode[] }) {
  const series = useMemo(
    () =>
      nodes.slice(0, linesMax).map(
        ({ node }, i): Series => ({
          label: node,
          colour: ((i % linesMax) + 1) as Series["colour"],
          values: points.map(({ lags }) => lags[node] ?? null),
        }),
      ),
    [points, nodes],
  );
  const x = useMemo(() => points.map(({ at }) => at), [points]);
  return (
    <Card>
      <Chart label="Lag behind the owner, in commits" x={x} series={series} format={format.short} />
    </Card>
  );
}
