import { call, nsPath } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { useLoad } from "../lib/use-load.ts";
import { Badge, Card, Empty, Loading, ProblemNotice, TableFrame } from "../ui/parts.tsx";

const refreshMs = 5_000;

interface Run {
  readonly time_ms: number;
  readonly function: string;
  readonly kind: string;
  readonly ms: number;
  readonly error?: string;
  readonly logs: readonly string[];
}

/** What ran. */
export function Runs({ ns }: { readonly ns: string }) {
  const { data, problem, reload } = useLoad(
    async (signal) => (await call<{ runs: readonly Run[] }>(nsPath(ns, "live", "runs"), { signal })).runs,
    [ns],
    refreshMs,
  );
  if (problem !== undefined) return <ProblemNotice problem={problem} retry={reload} />;
  if (data === undefined) return <Loading />;
  if (data.length === 0)
    return <Empty title="Nothing has run yet">Runs since the start of the server show here.</Empty>;
  return (
    <Card flush>
      <TableFrame label="Runs">
        <thead>
          <tr>
            <th>Time</th>
            <th>Function</th>
            <th>Outcome</th>
            <th class="number">ms</th>
            <th>Logs</th>
          </tr>
        </thead>
        <tbody>
          {data.map((run, i) => (
            <tr key={`${run.time_ms}-${i}`}>
              <td>{new Date(run.time_ms).toLocaleTimeString()}</td>
              <td class="mono">{run.function}</td>
              <td>{run.error === undefined ? <Badge tone="good">ok</Badge> : <Badge tone="bad">{run.error}</Badge>}</td>
              <td class="number">{run.ms.toFixed(1)}</td>
              <td class="mono">{run.logs.join("\n")}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </Card>
  );
}

interface OpenSession {
  readonly opened_ms: number;
  readonly principal: string;
  readonly tick: number;
  readonly queries: readonly string[];
}

/** Who watches. */
export function Sessions({ ns }: { readonly ns: string }) {
  const { data, problem, reload } = useLoad(
    async (signal) =>
      (await call<{ sessions: readonly OpenSession[] }>(nsPath(ns, "live", "sessions"), { signal })).sessions,
    [ns],
    refreshMs,
  );
  if (problem !== undefined) return <ProblemNotice problem={problem} retry={reload} />;
  if (data === undefined) return <Loading />;
  if (data.length === 0) return <Empty title="No open sessions">Clients that watch queries show here.</Empty>;
  return (
    <Card flush>
      <TableFrame label="Sessions">
        <thead>
          <tr>
            <th>Opened</th>
            <th>Caller</th>
            <th>Queries</th>
            <th class="number">Tick</th>
          </tr>
        </thead>
        <tbody>
          {data.map((session, i) => (
            <tr key={`${session.opened_ms}-${i}`}>
              <td>{new Date(session.opened_ms).toLocaleTimeString()}</td>
              <td class="mono">{session.principal}</td>
              <td class="mono">{session.queries.join(", ")}</td>
              <td class="number">{format.count(session.tick)}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </Card>
  );
}
