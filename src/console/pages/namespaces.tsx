import { useState } from "preact/hooks";
import { call, nsPath, postCommand } from "../lib/api.ts";
import { href, route } from "../lib/router.ts";
import { loadNamespaces, namespaces } from "../lib/session.ts";
import type { Namespace } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { DeleteDialog } from "../ui/dialog.tsx";
import { CreateDialog, ListPage } from "../ui/list-page.tsx";
import { Button } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { QuotaDialog } from "./quota-dialog.tsx";

export function NamespacesPage() {
  const loaded = useLoad(loadNamespaces, []);
  const [limiting, setLimiting] = useState<string | undefined>();
  const [deleting, setDeleting] = useState<Namespace | undefined>();
  return (
    <>
      <ListPage
        title="Namespaces"
        note="Each groups streams, links and collections."
        what="namespace"
        list={{ ...loaded, data: namespaces.value }}
        nameOf={({ name }) => name}
        empty={{
          title: "No namespaces yet",
          text: "Create one to hold your streams and collections.",
          command: postCommand("/v1/namespaces", '{"name":"shop"}'),
        }}
        row={(each) => <NamespaceRow namespace={each} onLimit={setLimiting} onDelete={setDeleting} />}
        create={(onClose) => (
          <CreateDialog
            what="namespace"
            onClose={onClose}
            onCreate={async (name) => {
              await call("/v1/namespaces", { body: { name } });
              await loadNamespaces();
            }}
            pathOf={(name) => ["ns", name, "streams"]}
          />
        )}
        createNeeds="instance-admin"
        createAtOnce={route.value.params.has("create")}
      />
      {limiting === undefined ? null : <QuotaDialog ns={limiting} onClose={() => setLimiting(undefined)} />}
      {deleting === undefined ? null : (
        <DeleteDialog
          what="namespace"
          name={deleting.name}
          consequence="Only an empty namespace can be deleted."
          onClose={() => setDeleting(undefined)}
          onDelete={async () => {
            await call(nsPath(deleting.name), { method: "DELETE" });
            await loadNamespaces();
            toast(`Deleted ${deleting.name}`);
          }}
        />
      )}
    </>
  );
}

interface NamespaceRowProps {
  readonly namespace: Namespace;
  readonly onLimit: (name: string) => void;
  readonly onDelete: (namespace: Namespace) => void;
}

function NamespaceRow({ namespace, onLimit, onDelete }: NamespaceRowProps) {
  const { name, id } = namespace;
  return (
    <div class="list-row">
      <a class="grow" href={href(["ns", name, "streams"])}>
        {name}
      </a>
      <span class="muted">id {id}</span>
      <Button
        small
        kind="quiet"
        icon="overview"
        needs="instance-admin"
        label={`Quota of ${name}`}
        onClick={() => onLimit(name)}
      />
      <Button
        small
        kind="quiet"
        icon="trash"
        needs="instance-admin"
        label={`Delete ${name}`}
        onClick={() => onDelete(namespace)}
      />
    </div>
  );
}
