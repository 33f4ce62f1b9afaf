import { useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import { href, navigate, route } from "../lib/router.ts";
import { loadNamespaces, namespaces } from "../lib/session.ts";
import type { Namespace } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { DeleteDialog, FormDialog } from "../ui/dialog.tsx";
import { Button, Card, Empty, Loading, PageHead, ProblemNotice, TableFrame, TextField } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";

export const namePattern = "[A-Za-z0-9][A-Za-z0-9._\\-]{0,127}";
export const nameHint = "Letters, digits, dot, dash and underscore; at most 128.";

export function NamespacesPage() {
  const { problem, reload } = useLoad(loadNamespaces, []);
  const [creating, setCreating] = useState(route.value.params.has("create"));
  const [deleting, setDeleting] = useState<Namespace | undefined>();
  const list = namespaces.value;
  return (
    <>
      <PageHead title="Namespaces" note="Each groups streams, links and collections.">
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          Create namespace
        </Button>
      </PageHead>
      <ProblemNotice problem={problem} retry={reload} />
      {list === undefined ? (
        <Loading />
      ) : (
        <Card flush>
          {list.length === 0 ? (
            <Empty
              title="No namespaces yet"
              command={`curl -X POST ${location.origin}/v1/namespaces \\\n  -H 'content-type: application/json' -d '{"name":"shop"}'`}
            >
              Create one to hold your streams and collections.
            </Empty>
          ) : (
            <TableFrame label="Namespaces">
              <thead>
                <tr>
                  <th>Name</th>
                  <th class="number">Id</th>
                  <th>
                    <span class="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {list.map((each) => (
                  <tr key={each.name}>
                    <td>
                      <a href={href(["ns", each.name, "streams"])}>{each.name}</a>
                    </td>
                    <td class="number">{each.id}</td>
                    <td class="number">
                      <Button
                        small
                        kind="quiet"
                        icon="trash"
                        label={`Delete ${each.name}`}
                        onClick={() => setDeleting(each)}
                      />
                    </td>
                  </tr>
                ))}
              </tbody>
            </TableFrame>
          )}
        </Card>
      )}
      {creating ? <CreateNamespace onClose={() => setCreating(false)} /> : null}
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

function CreateNamespace({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const create = async () => {
    await call("/v1/namespaces", { body: { name } });
    await loadNamespaces();
    toast(`Created ${name}`);
    navigate(["ns", name, "streams"]);
  };
  return (
    <FormDialog title="Create namespace" submit="Create" onClose={onClose} onSubmit={create}>
      <TextField
        label="Name"
        value={name}
        onInput={setName}
        required
        mono
        autoFocus
        pattern={namePattern}
        hint={nameHint}
      />
    </FormDialog>
  );
}
