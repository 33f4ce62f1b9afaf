import type { Logger } from "pino";
import type { LmdbStore } from "../adapter/lmdb/store.ts";
import { AuditedAuthenticator } from "../edge/auth/audited.ts";
import { type Authenticator, createAuthenticator } from "../edge/auth/authenticator.ts";
import { AuditLog } from "../engine/auth/audit.ts";
import { ApiKeys } from "../engine/auth/keys.ts";
import { Instance, type InstanceDeps } from "../engine/instance/instance.ts";
import { isPrivate, type ServedCertificates } from "../listener/certificate.ts";
import type { Clock } from "../port/clock.ts";
import type { Random } from "../port/random.ts";
import type { Store } from "../port/store.ts";
import { checkAuthFormat, exclusively, openAuthStore } from "./auth-store.ts";
import type { ServerConfig } from "./config/config.ts";
import { version } from "./version.ts";

export interface IdentityGround {
  /** Of a node of a cluster, whose keys are in the shared store. */
  readonly store?: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly opened: AsyncDisposableStack;
  /** Those that the listener serves, once it listens. */
  readonly certificates: () => ServedCertificates | undefined;
  readonly isStandby: boolean;
}

/** Who the server is, who may come in, and what is noted of them. */
export interface Identity {
  readonly authStore: Store;
  readonly instance: Instance;
  readonly keys: ApiKeys;
  readonly audit: AuditLog;
  readonly authenticator: Authenticator;
}

export async function openIdentity(config: ServerConfig, log: Logger, ground: IdentityGround): Promise<Identity> {
  const { store, clock, random, opened, isStandby } = ground;
  const privateTls = privateCertificates(config.tlsPins, ground.certificates);
  const openInstance = (authStore: Store) =>
    Instance.open({ store: authStore, clock, random, privateTls, ...instanceConfig(config, store !== undefined) });
  const { authStore, instance } =
    store === undefined
      ? await exclusively(config.dataDir, async () => {
          const authStore: LmdbStore = opened.adopt(openAuthStore(config.dataDir), (each) => each.close());
          await checkAuthFormat(authStore);
          return { authStore, instance: await openInstance(authStore) };
        })
      : { authStore: store, instance: await openInstance(store) };
  const keys = new ApiKeys({ store: authStore, clock, random, fixed: config.auth.fixedKeys });
  if (config.auth.modes.join() === "apikey" && keys.isEmpty) {
    log.warn("there is no API key, so nobody is let in: native-engine keys create makes one, also while this runs");
  }
  const report = (message: string) => log.warn(message);
  const audit = new AuditLog(
    authStore,
    clock,
    (entry) => log.info({ audit: entry }, `audit: ${entry.action}`),
    // Only the owner can write; what a standby notes is in its operator's log.
    (err) => isStandby || log.error({ err }, "entries of the audit log could not be stored"),
  );
  opened.defer(() => audit.close());
  const credentials = createAuthenticator(config.auth, {
    keys,
    clock,
    report,
    origins: config.corsOrigins,
    publicUrl: config.publicUrl,
    hasTls: config.tlsCertFile !== undefined,
  });
  // Without authentication there is nobody to note.
  const isOpen = config.auth.modes.includes("off");
  const authenticator = isOpen ? credentials : new AuditedAuthenticator(credentials, audit, clock);
  opened.defer(() => authenticator.close());
  authenticator.prepare();
  return { authStore, instance, keys, audit, authenticator };
}

function instanceConfig(config: ServerConfig, isCluster: boolean): Omit<InstanceDeps, "store" | "clock" | "random"> {
  const { modes, oidc } = config.auth;
  const { instanceName: name, minAppVersions, push, houseUrl, tlsCertFile } = config;
  return {
    settings: { name, minAppVersions, ...(push === undefined ? {} : { push }) },
    version,
    authModes: modes,
    ...(oidc === undefined ? {} : { issuer: oidc.issuer }),
    house: houseUrl !== undefined,
    features: {
      streams: true,
      events: true,
      links: true,
      collections: true,
      search: true,
      flight_sql: true,
      sql: true,
      live: config.liveListen !== "off",
      apikey: modes.includes("apikey"),
      oidc: modes.includes("oidc"),
      mesh: modes.includes("mesh"),
      tls: tlsCertFile !== undefined,
      reflection: config.mode === "development",
      house: houseUrl !== undefined,
      push: push !== undefined,
      ...(isCluster && { cluster: true }),
    },
  };
}

/** The certificates that clients should pin. The issuer of each is determined once. */
function privateCertificates(
  pins: ServerConfig["tlsPins"],
  certificates: () => ServedCertificates | undefined,
): () => ServedCertificates | undefined {
  let judged: { readonly chain: string; readonly isPrivate: boolean } | undefined;
  return () => {
    const served = pins === "off" ? undefined : certificates();
    if (served === undefined || pins === "on") return served;
    if (judged?.chain !== served.current) judged = { chain: served.current, isPrivate: isPrivate(served.current) };
    return judged.isPrivate ? served : undefined;
  };
}
