import { namesIn, type SearchState, withName } from "../lib/search-state.ts";
import { Check, Field, SelectField, TextField } from "../ui/fields.tsx";

/** Check boxes of one row. */
const checksOffered = 8;

export interface PartProps {
  readonly state: SearchState;
  readonly change: (part: Partial<SearchState>) => void;
}

export function TextPart({ state, texts, change }: PartProps & { readonly texts: readonly string[] }) {
  return (
    <fieldset>
      <legend>Text</legend>
      <TextField
        label="Words"
        hideLabel
        type="search"
        value={state.text}
        onInput={(text) => change({ text })}
        placeholder='Words, or "a phrase"'
      />
      <div class="fields">
        <SelectField
          label="In"
          value={state.textField}
          onChange={(textField) => change({ textField })}
          options={texts.map((name) => [name, name])}
        />
        <SelectField
          label="Words"
          value={state.operator}
          onChange={(operator) => change({ operator: operator === "and" ? "and" : "or" })}
          options={[
            ["or", "any"],
            ["and", "all"],
          ]}
        />
      </div>
      <NameChecks
        label="Highlight"
        names={texts}
        chosen={state.highlight}
        onChange={(highlight) => change({ highlight })}
      />
    </fieldset>
  );
}

export function VectorPart({
  state,
  names,
  dim,
  change,
}: PartProps & { readonly names: readonly string[]; readonly dim: number }) {
  return (
    <fieldset>
      <legend>Vector</legend>
      <OfDocument
        labels={["Like document", "By"]}
        id={state.like}
        onId={(like) => change({ like, vector: "" })}
        names={names}
        field={state.vectorField}
        onField={(vectorField) => change({ vectorField })}
      />
      <Field label={`Or ${dim} numbers`}>
        {(id) => (
          <textarea
            id={id}
            class="mono"
            rows={2}
            spellcheck={false}
            value={state.vector}
            placeholder="0.12, -0.4, …"
            onInput={(event) => change({ vector: event.currentTarget.value, like: "" })}
          />
        )}
      </Field>
    </fieldset>
  );
}

export function SparsePart({ state, names, change }: PartProps & { readonly names: readonly string[] }) {
  return (
    <fieldset>
      <legend>Sparse vector</legend>
      <OfDocument
        labels={["As in document", "Of"]}
        id={state.sparseLike}
        onId={(sparseLike) => change({ sparseLike, sparse: "" })}
        names={names}
        field={state.sparseField}
        onField={(sparseField) => change({ sparseField })}
      />
      <TextField
        label="Or index:weight"
        mono
        value={state.sparse}
        onInput={(sparse) => change({ sparse, sparseLike: "" })}
        placeholder="3:0.5, 17:1.5"
      />
    </fieldset>
  );
}

interface OfDocumentProps {
  readonly labels: readonly [id: string, field: string];
  readonly id: string;
  readonly onId: (id: string) => void;
  readonly names: readonly string[];
  readonly field: string;
  readonly onField: (field: string) => void;
}

/** A document by its id, and which of its vectors is meant. */
function OfDocument({ labels, id, onId, names, field, onField }: OfDocumentProps) {
  return (
    <div class="fields">
      <TextField label={labels[0]} type="number" min={0} value={id} onInput={onId} placeholder="id" />
      <SelectField label={labels[1]} value={field} onChange={onField} options={names.map((name) => [name, name])} />
    </div>
  );
}

/** Names that are checked or not: the first ones, and those that are chosen. */
export function NameChecks({
  label,
  names,
  chosen,
  onChange,
}: {
  readonly label: string;
  readonly names: readonly string[];
  readonly chosen: string;
  readonly onChange: (chosen: string) => void;
}) {
  const marked = namesIn(chosen);
  const offered = [...new Set([...names.slice(0, checksOffered), ...marked])];
  return (
    <fieldset class="checks">
      <legend class="label">{label}</legend>
      {offered.map((name) => (
        <Check
          key={name}
          label={name}
          checked={marked.includes(name)}
          onChange={(on) => onChange(withName(chosen, name, on))}
        />
      ))}
    </fieldset>
  );
}
