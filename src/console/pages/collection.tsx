import { useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { href, navigate, replaceParams, route } from "../lib/router.ts";
import type { CollectionInfo } from "../lib/types.ts";
import { useAction, useLoad } from "../lib/use-load.ts";
import { Awaited } from "../ui/awaited.tsx";
import { DeleteDialog } from "../ui/dialog.tsx";
import { Button, PageHead, Stat, Tabs } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { Aliases } from "./aliases.tsx";
import { Documents } from "./documents.tsx";
import { ManifestVersions } from "./manifest-versions.tsx";
import { SchemaView } from "./schema-view.tsx";

export function CollectionPage({ ns, name }: { readonly ns: string; readonly name: string }) {
  const [isDeleting, setDeleting] = useState(false);
  const tab = route.value.params.get("tab") ?? "documents";
  const path = nsPath(ns, "collections", name);
  const loaded = useLoad((signal) => call<CollectionInfo>(path, { signal }), [path], 3_000);
  const { reload } = loaded;
  const total = useLoad(
    async (signal) => (await call<{ count: number }>(`${path}/documents/count`, { body: {}, signal })).count,
    [path],
    5_000,
  );
  const hot = useHot(path, reload);
  const warm = useWarm(path, reload);
  return (
    <>
      <PageHead title={name} crumbs={[{ label: "Collections", href: href(["ns", ns, "collections"]) }]}>
        <a class="button primary" href={href(["ns", ns, "search"], { c: name })}>
          Search
        </a>
        <Button kind="danger" icon="trash" needs="admin" onClick={() => setDeleting(true)}>
          Delete
        </Button>
      </PageHead>
      <Awaited loaded={loaded} problem={hot.problem ?? warm.problem}>
        {(data) => (
          <>
            <CollectionStats info={data} documents={total.data} />
            <IndexActions ns={ns} name={name} info={data} hot={hot} warm={warm} onChanged={reload} />
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
            {tab === "versions" ? <ManifestVersions path={path} /> : null}
          </>
        )}
      </Awaited>
      {isDeleting ? (
        <DeleteDialog
          what="collection"
          name={name}
          consequence="Its documents, indexes and aliases go with it."
          onClose={() => setDeleting(false)}
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

function CollectionStats({
  info,
  documents,
}: {
  readonly info: CollectionInfo;
  readonly documents: number | undefined;
}) {
  const { manifest, backpressure, hot } = info;
  return (
    <dl class="stats">
      <Stat label="Documents" value={documents === undefined ? "…" : format.count(documents)} />
      <Stat
        label="Sealed"
        value={format.count(manifest.records)}
        note={`${format.bytes(manifest.bytes)}, manifest ${manifest.version}`}
      />
      <Stat
        label="Tail"
        value={format.count(backpressure.backlog_records)}
        note={backpressure.throttled ? "writes are held back" : format.bytes(backpressure.backlog_bytes)}
      />
      <Stat label="Schema version" value={info.schema_version} />
      <Stat label="Index" value={hot.state} note={hot.enabled ? "kept in memory" : "may leave memory"} />
    </dl>
  );
}

function useHot(path: string, onDone: () => void) {
  return useAction(async (enabled: boolean) => {
    await call(`${path}/hot`, { method: "PUT", body: { enabled } });
    toast(enabled ? "The index is kept in memory" : "The index may leave memory");
    onDone();
  });
}

function useWarm(path: string, onDone: () => void) {
  return useAction(async () => {
    await call(`${path}/warm`, { body: {} });
    toast("Loading the index into memory");
    onDone();
  });
}

interface IndexActionsProps {
  readonly ns: string;
  readonly name: string;
  readonly info: CollectionInfo;
  readonly hot: ReturnType<typeof useHot>;
  readonly warm: ReturnType<typeof useWarm>;
  readonly onChanged: () => void;
}

function IndexActions({ ns, name, info, hot, warm, onChanged }: IndexActionsProps) {
  return (
    <div class="actions">
      <Button
        small
        needs="admin"
        icon="flame"
        pressed={info.hot.enabled}
        busy={hot.busy}
        onClick={() => void hot.run(!info.hot.enabled)}
      >
        Keep in memory
      </Button>
      <Button small needs="write" busy={warm.busy} onClick={() => void warm.run()}>
        Warm now
      </Button>
      <Aliases ns={ns} collection={name} aliases={info.aliases} onChanged={onChanged} />
    </div>
  );
}
