import { useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { useLoad } from "../lib/use-load.ts";
import { Awaited } from "../ui/awaited.tsx";
import { FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/fields.tsx";
import { toast } from "../ui/toast.tsx";

interface QuotaState {
  readonly max_bytes: number | null;
  readonly max_requests_per_second: number | null;
  readonly used_bytes: number;
}

/** What a namespace uses and may use. */
export function QuotaDialog({ ns, onClose }: { readonly ns: string; readonly onClose: () => void }) {
  const loaded = useLoad<QuotaState>((signal) => call(nsPath(ns, "quota"), { signal }), [ns]);
  const [input, setInput] = useState<{ readonly bytes?: string; readonly requests?: string }>({});
  const { data } = loaded;
  const bytes = input.bytes ?? (data?.max_bytes == null ? "" : `${data.max_bytes} B`);
  const requests = input.requests ?? String(data?.max_requests_per_second ?? "");
  const save = async () => {
    const size = bytes.trim() === "" ? null : format.parseBytes(bytes);
    if (size === undefined) throw new Error(`${bytes} is no size: give a number and B, KiB, MiB or GiB.`);
    const rate = requests.trim() === "" ? null : Number(requests);
    await call(nsPath(ns, "quota"), { method: "PUT", body: { max_bytes: size, max_requests_per_second: rate } });
    toast(`Quota of ${ns} changed`);
  };
  return (
    <FormDialog title={`Quota of ${ns}`} submit="Save" onClose={onClose} onSubmit={save}>
      <Awaited loaded={loaded}>
        {({ used_bytes: used }) => (
          <p class="muted">Its records, documents and live tables take {format.bytes(used)}. Empty means no bound.</p>
        )}
      </Awaited>
      <div class="fields">
        <TextField
          label="Bytes at most"
          value={bytes}
          onInput={(value) => setInput({ ...input, bytes: value })}
          placeholder="no bound"
          hint="512 MiB, 20 GiB"
        />
        <TextField
          label="Requests per second at most"
          type="number"
          min={1}
          value={requests}
          onInput={(value) => setInput({ ...input, requests: value })}
          placeholder="no bound"
        />
      </div>
    </FormDialog>
  );
}
