import { type CommandSpec, connectionOptions, dataDir, type OptionSpec } from "./spec.ts";

const keyName: OptionSpec = { name: "name", value: "NAME", help: "the name of the key, which may also stand alone" };
const onDataDir = `Works on the data directory, whether or not a server runs on it.`;
const signingKeyDetails = `${onDataDir} "rotate" publishes a new key beside the old one. The old key goes on signing
and vouches for the new one (keyRotation of GetInstance). Give clients time to learn the new key, then put it to use with "finish".
The old key stays in the key set, so that what it signed can still be verified.`;

/** Commands on what belongs to the instance itself, in its data directory. */
export const instanceCommands: readonly CommandSpec[] = [
  {
    path: ["setup"],
    args: [],
    local: true,
    summary: "First-run setup: create the org and name its owner",
    details: `${onDataDir} A running server takes the change up at once. The same names again change nothing.`,
    options: [
      { name: "org", value: "NAME", help: "the name of the org" },
      { name: "owner", value: "NAME", help: "its owner: an email address or a subject" },
      dataDir,
    ],
    load: async () => (await import("./commands/instance.ts")).setup,
  },
  {
    path: ["keys", "create"],
    args: ["[NAME]"],
    local: true,
    summary: "Create an API key, which is shown once",
    details: `${onDataDir} A reader reads, a writer also writes data, an admin also creates and drops.
The server asks for keys where SERVICE_AUTH_MODE includes apikey.`,
    options: [
      keyName,
      { name: "role", value: "ROLE", choices: ["admin", "writer", "reader"], help: "what the key may do" },
      {
        name: "namespace",
        short: "n",
        value: "NAME",
        multiple: true,
        help: "limit the key to this namespace; may be repeated; default all",
      },
      { name: "expires", value: "DURATION", help: "how long it is valid, for example 90d; default forever" },
      dataDir,
      ...connectionOptions.filter(({ name }) => name === "url" || name === "ca-file"),
    ],
    load: async () => (await import("./commands/keys.ts")).createKey,
  },
  {
    path: ["keys", "list"],
    args: [],
    local: true,
    summary: "List the API keys, without the keys themselves",
    details: onDataDir,
    options: [dataDir],
    load: async () => (await import("./commands/keys.ts")).listKeys,
  },
  {
    path: ["keys", "revoke"],
    args: ["[NAME]"],
    local: true,
    summary: "Revoke an API key, from the next request on",
    details: onDataDir,
    options: [keyName, dataDir],
    load: async () => (await import("./commands/keys.ts")).revokeKey,
  },
  {
    path: ["signing-key", "show"],
    args: [],
    local: true,
    summary: "Show the keys with which the instance signs",
    details: signingKeyDetails,
    options: [dataDir],
    load: async () => (await import("./commands/instance.ts")).showSigningKey,
  },
  {
    path: ["signing-key", "rotate"],
    args: [],
    local: true,
    summary: "Publish the next signing key",
    details: signingKeyDetails,
    options: [dataDir],
    load: async () => (await import("./commands/instance.ts")).rotateSigningKey,
  },
  {
    path: ["signing-key", "finish"],
    args: [],
    local: true,
    summary: "Sign with the next key from now on",
    details: signingKeyDetails,
    options: [dataDir],
    load: async () => (await import("./commands/instance.ts")).finishSigningKey,
  },
];
