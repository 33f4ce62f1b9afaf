import { useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { href, navigate, replaceParams, route } from "../lib/router.ts";
import type { CollectionInfo, FieldKind, VersionItem } from "../lib/types.ts";
import { useAction, useLoad } from "../lib/use-load.ts";
import { Awaited } from "../ui/awaited.tsx";
import { DeleteDialog, FormDialog } from "../ui/dialog.tsx";
import { namePattern } from "../ui/list-page.tsx";
import {
  Badge,
  Button,
  Card,
  Empty,
  Loading,
  PageHead,
  ProblemNotice,
  Stat,
  TableFrame,
  Tabs,
  TextField,
} from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { Documents } from "./documents.tsx";

export function kindText(kind: FieldKind): string {
  if (typeof kind === "string") return kind;
  const { analyzer = "standard", positions = true, folding = false } = kind.text;
  return `text, ${analyzer}${positions ? "" : ", no positions"}${folding ? ", folding" : ""}`;
}

export function CollectionPage({ ns, name }: { readonly ns: string; readonly name: string }) {
  const [dialog, setDialog] = useState<"delete" | "alias" | undefined>();
  const tab = route.value.params.get("tab") ?? "documents";
  const path = nsPath(ns, "collections", name);
  const loaded = useLoad((signal) => call<CollectionInfo>(path, { signal }), [path], 3_000);
  const { reload } = loaded;
  const total = useLoad(
    async (signal) => (await call<{ count: number }>(`${path}/documents/count`, { body: {}, signal })).count,
    [path],
    5_000,
  );
  const hot = useAction(async (enabled: boolean) => {
    await call(`${path}/hot`, { method: "PUT", body: { enabled } });
    toast(enabled ? "The index is kept in memory" : "The index may leave memory");
    reload();
  });
  const warm = useAction(async () => {
    await call(`${path}/warm`, { body: {} });
    toast("Loading the index into memory");
    reload();
  });
  return (
    <>
      <PageHead title={name} crumbs={[{ label: "Collections", href: href(["ns", ns, "collections"]) }]}>
        <a class="button primary" href={href(["ns", ns, "search"], { c: name })}>
          Search
        </a>
        <Button kind="danger" icon="trash" needs="admin" onClick={() => setDialog("delete")}>
          Delete
        </Button>
      </PageHead>
      <Awaited loaded={loaded} problem={hot.problem ?? warm.problem}>
        {(data) => (
          <>
            <dl class="stats">
              <Stat label="Documents" value={total.data === undefined ? "…" : format.count(total.data)} />
              <Stat
                label="Sealed"
                value={format.count(data.manifest.records)}
                note={`${format.bytes(data.manifest.bytes)}, manifest ${data.manifest.version}`}
              />
              <Stat
                label="Tail"
                value={format.count(data.backpressure.backlog_records)}
                note={
                  data.backpressure.throttled ? "writes are held back" : format.bytes(data.backpressure.backlog_bytes)
                }
              />
              <Stat label="Schema version" value={data.schema_version} />
              <Stat
                label="Index"
                value={data.hot.state}
                note={data.hot.enabled ? "kept in memory" : "may leave memory"}
              />
            </dl>
            <div class="actions">
              <Button
                small
                needs="admin"
                icon="flame"
                pressed={data.hot.enabled}
                busy={hot.busy}
                onClick={() => void hot.run(!data.hot.enabled)}
              >
                Keep in memory
              </Button>
              <Button small needs="write" busy={warm.busy} onClick={() => void warm.run()}>
                Warm now
              </Button>
              <span class="muted">Aliases</span>
              {data.aliases.map((alias) => (
                <RemovableAlias key={alias} ns={ns} alias={alias} onDone={reload} />
              ))}
              <Button small kind="quiet" icon="plus" needs="admin" onClick={() => setDialog("alias")}>
                Add alias
              </Button>
            </div>
            <Tabs
              label="Parts of the collection"
              active={tab}
              onChange={(id) => replaceParams({ tab: id })}
              tabs={[
                ["documents", "Documents"],
                ["schema", "Schema"],
                ["versions", "Manifest versions"],
              ]}
            />
            {tab === "documents" ? <Documents ns={ns} name={name} /> : null}
            {tab === "schema" ? <SchemaView info={data} /> : null}
            {tab === "versions" ? <Versions path={path} /> : null}
          </>
        )}
      </Awaited>
      {dialog === "alias" ? (
        <AliasDialog ns={ns} collection={name} onClose={() => setDialog(undefined)} onDone={reload} />
      ) : null}
      {dialog === "delete" ? (
        <DeleteDialog
          what="collection"
          name={name}
          consequence="Its documents, indexes and aliases go with it."
          onClose={() => setDialog(undefined)}
          onDelete={async () => {
            await call(path, { method: "DELETE" });
            toast(`Deleted ${name}`);
            navigate(["ns", ns, "collections"]);
          }}
        />
      ) : null}
    </>
  );
}

function RemovableAlias({
  ns,
  alias,
  onDone,
}: {
  readonly ns: string;
  readonly alias: string;
  readonly onDone: () => void;
}) {
  const remove = useAction(async () => {
    await call(nsPath(ns, "aliases"), { body: { actions: [{ remove: { alias } }] } });
    onDone();
  });
  return (
    <span class="alias">
      <Badge tone="accent">{alias}</Badge>
      <Button
        small
        needs="admin"
        kind="quiet"
        icon="close"
        label={`Remove the alias ${alias}`}
        busy={remove.busy}
        onClick={() => void remove.run()}
      />
      <ProblemNotice problem={remove.problem} />
    </span>
  );
}

interface AliasDialogProps {
  readonly ns: string;
  readonly collection: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function AliasDialog({ ns, collection, onClose, onDone }: AliasDialogProps) {
  const [alias, setAlias] = useState("");
  const add = async () => {
    await call(nsPath(ns, "aliases"), { body: { actions: [{ add: { alias, collection } }] } });
    onDone();
  };
  return (
    <FormDialog title="Add alias" submit="Add" onClose={onClose} onSubmit={add}>
      <p class="muted">An alias of another collection moves here, for all readers at once.</p>
      <TextField label="Alias" value={alias} onInput={setAlias} required mono autoFocus pattern={namePattern} />
    </FormDialog>
  );
}

function SchemaView({ info }: { readonly info: CollectionInfo }) {
  const { fields, vectors = [], sparse_vectors: sparse = [], dynamic, max_fields: fieldsMax } = info.schema;
  return (
    <div class="two">
      <Card title={`Fields (${fields.length})`} flush>
        <TableFrame label="Fields">
          <thead>
            <tr>
              <th>Name</th>
              <th>Kind</th>
              <th>Source path</th>
              <th>Access</th>
            </tr>
          </thead>
          <tbody>
            {fields.map((field) => (
              <tr key={field.name}>
                <td class="mono">{field.name}</td>
                <td>{kindText(field.kind)}</td>
                <td class="mono">{field.source_path ?? field.name}</td>
                <td>
                  {field.indexed === false ? null : <Badge>indexed</Badge>} {field.fast ? <Badge>fast</Badge> : null}
                </td>
              </tr>
            ))}
          </tbody>
        </TableFrame>
      </Card>
      <div class="stack">
        <Card title={`Vectors (${vectors.length + sparse.length})`} flush>
          <TableFrame label="Vectors">
            <thead>
              <tr>
                <th>Name</th>
                <th class="number">Dimensions</th>
                <th>Distance</th>
              </tr>
            </thead>
            <tbody>
              {vectors.map((vector) => (
                <tr key={vector.name}>
                  <td class="mono">{vector.name}</td>
                  <td class="number">{vector.dim}</td>
                  <td>{vector.distance}</td>
                </tr>
              ))}
              {sparse.map((vector) => (
                <tr key={vector.name}>
                  <td class="mono">{vector.name}</td>
                  <td class="number">sparse</td>
                  <td>dot</td>
                </tr>
              ))}
            </tbody>
          </TableFrame>
        </Card>
        <Card title="Rules">
          <dl class="pairs">
            <dt>Unknown fields</dt>
            <dd>{dynamic ?? "ignore"}</dd>
            <dt>Fields at most</dt>
            <dd>{format.count(fieldsMax ?? 1000)}</dd>
            <dt>Columnar dataset</dt>
            <dd class="mono">
              {info.manifest.lance === null
                ? "not committed yet"
                : `${info.manifest.lance.uri} version ${info.manifest.lance.version}`}
            </dd>
          </dl>
        </Card>
      </div>
    </div>
  );
}

function Versions({ path }: { readonly path: string }) {
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
