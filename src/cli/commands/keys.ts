import { NodeClock } from "../../adapter/node/clock.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import { ServiceError } from "../../client/index.ts";
import { parseDuration } from "../../composition/config/values.ts";
import { keyJson } from "../../edge/rest/instance/key-json.ts";
import { type ApiKeyInfo, ApiKeys } from "../../engine/auth/keys.ts";
import { roles } from "../../engine/auth/principal.ts";
import { UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import { onInstance } from "../data-dir.ts";
import type { Run } from "../spec.ts";

async function onKeys<T>(context: Context, run: (keys: ApiKeys) => Promise<T> | T): Promise<T> {
  return await onInstance(context, async (store) =>
    run(new ApiKeys({ store, clock: new NodeClock(), random: new NodeRandom() })),
  );
}

/** The name of a key, after `--name` or alone. */
function nameOf(context: Context): string {
  const names = [...context.args, ...(context.text("name") === undefined ? [] : [context.required("name")])];
  if (names.length > 1) throw new UsageError("give one name, as --name NAME or NAME");
  return names[0] ?? context.required("name");
}

export const createKey: Run = async (context) => {
  const name = nameOf(context);
  context.required("role");
  const role = context.choice("role", roles, "reader");
  const namespaces = context.all("namespace").flatMap((each) => each.split(","));
  const expires = context.text("expires");
  const { info, key } = await onKeys(context, (keys) =>
    keys.create({
      name,
      role,
      ...(namespaces.length === 0 ? {} : { namespaces }),
      ...(expires === undefined ? {} : { lifetimeMs: parseDuration(expires, "expires") }),
    }),
  );
  const { out } = context;
  for (const namespace of info.namespaces ?? []) {
    if (await isMissing(context, key, namespace)) {
      out.note(`warning: there is no namespace ${namespace} yet; \`native-engine ns create ${namespace}\` makes it`);
    }
  }
  if (context.json) {
    await out.line(JSON.stringify({ ...keyJson(info), key }));
    return undefined;
  }
  // The key alone goes to standard output, so that it can be piped into a secret store.
  out.note(`Created the key ${info.name} (${describe(info)}). It is shown only now:`);
  await out.line(key);
  return undefined;
};

/** How long a server is waited for that may not run. */
const askedMsMax = 1_000;

/**
 * Whether the server of this data directory has no such namespace. The server alone may open its store, so it is asked, with the new
 * key: another server does not know that key and says nothing of its namespaces. Where none answers, nothing is said either.
 */
async function isMissing(context: Context, apiKey: string, namespace: string): Promise<boolean> {
  const client = context.clientWith({ apiKey, retry: { attemptsMax: 1 }, attemptMs: askedMsMax });
  try {
    await client.namespace(namespace).get(context);
    return false;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.reason === "not_found";
  }
}

export const listKeys: Run = async (context) => {
  const all = await onKeys(context, (keys) => keys.list());
  if (context.json) {
    await context.out.line(JSON.stringify({ keys: all.map(keyJson) }));
    return undefined;
  }
  if (all.length === 0) context.out.say("There are no keys.");
  else {
    await context.out.list("keys", all, {
      NAME: ({ name }) => name,
      ROLE: ({ role }) => role,
      NAMESPACE: ({ namespaces }) => namespaces?.join(",") ?? "all",
      STATUS: ({ status }) => status,
      CREATED: ({ createdMs }) => day(createdMs),
      EXPIRES: ({ expiresMs }) => (expiresMs === undefined ? "never" : day(expiresMs)),
      ID: ({ id }) => id,
    });
  }
  return undefined;
};

export const revokeKey: Run = async (context) => {
  const name = nameOf(context);
  const info = await onKeys(context, (keys) => keys.revoke(name));
  await context.out.value(keyJson(info), () => `Revoked the key ${info.name}.`);
  return undefined;
};

function describe({ role, namespaces, expiresMs }: ApiKeyInfo): string {
  const scope =
    namespaces === undefined
      ? "all namespaces"
      : `${namespaces.length === 1 ? "namespace" : "namespaces"} ${namespaces.join(", ")}`;
  return `${role}, ${scope}, ${expiresMs === undefined ? "no expiry" : `expires ${new Date(expiresMs).toISOString()}`}`;
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
