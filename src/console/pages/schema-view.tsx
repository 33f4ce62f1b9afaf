import * as format from "../lib/format.ts";
import type { CollectionInfo, CollectionSchema, FieldKind } from "../lib/types.ts";
import { Badge, Card, TableFrame } from "../ui/parts.tsx";

function kindText(kind: FieldKind): string {
  if (typeof kind === "string") return kind;
  const { analyzer = "standard", positions = true, folding = false } = kind.text;
  return `text, ${analyzer}${positions ? "" : ", no positions"}${folding ? ", folding" : ""}`;
}

export function SchemaView({ info }: { readonly info: CollectionInfo }) {
  const { fields, vectors = [], sparse_vectors: sparse = [], dynamic, max_fields: fieldsMax } = info.schema;
  return (
    <div class="two">
      <Fields fields={fields} />
      <div class="stack">
        <Vectors vectors={vectors} sparse={sparse} />
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

function Fields({ fields }: Pick<CollectionSchema, "fields">) {
  return (
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
  );
}

interface VectorsProps {
  readonly vectors: NonNullable<CollectionSchema["vectors"]>;
  readonly sparse: NonNullable<CollectionSchema["sparse_vectors"]>;
}

function Vectors({ vectors, sparse }: VectorsProps) {
  return (
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
  );
}
