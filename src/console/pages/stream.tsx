import { useState } from "preact/hooks";
import { ApiError, call, nsPath } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { href, navigate } from "../lib/router.ts";
import type { PartitionInfo, StreamDetail } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { DeleteDialog, FormDialog } from "../ui/dialog.tsx";
import { Button, Card, Loading, PageHead, ProblemNotice, Stat, TableFrame } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { AppendDialog } from "./append-dialog.tsx";
import { Records } from "./records.tsx";
import { parseRetention, RetentionFields, retentionText } from "./streams.tsx";

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
