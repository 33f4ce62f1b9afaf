import { call } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import type { VersionItem } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { Card, Empty, Loading, ProblemNotice, TableFrame } from "../ui/parts.tsx";

export function ManifestVersions({ path }: { readonly path: string }) {
  const { data, problem, reload } = useLoad(
    async (signal) => (await call<{ versions: VersionItem[] }>(`${path}/versions`, { signal })).versions,
    [path],
    5_000,
  );
  if (data === undefined)
    return problem === undefined ? <Loading /> : <ProblemNotice problem={problem} retry={reload} />;
  if (data.length === 0)
    return (
      <Card>
        <Empty title="No manifest yet">The first one is published a few seconds after the first write.</Empty>
      </Card>
    );
  return (
    <Card flush>
      <TableFrame label="Manifest versions">
        <thead>
          <tr>
            <th class="number">Version</th>
            <th>Published</th>
            <th class="number">Documents</th>
            <th>Columnar dataset</th>
          </tr>
        </thead>
        <tbody>
          {data.map((each) => (
            <tr key={each.version}>
              <td class="number">{each.version}</td>
              <td>{format.time(Date.parse(each.created_at))}</td>
              <td class="number">{format.count(each.records)}</td>
              <td>{each.lance === null ? "none" : `version ${each.lance.version}`}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </Card>
  );
}
