/** The native port, or the one of the Live engine. */
export type Port = "native" | "live";

/** The name of this build, sent to callers of packages that it lacks. */
export const buildVariant = "oss";

export interface CataloguePackage {
  readonly package: string;
  readonly version: string;
  readonly services: readonly string[];
  /** The wire contract may still change. */
  readonly unstable: boolean;
  /** Where it is served; `by_house` also needs the address of its front end. */
  readonly presence: "everywhere" | "native" | "live" | "absent" | "by_house";
}

/** Every package that has services. */
export const catalogue: readonly CataloguePackage[] = [
  {
    package: "service.instance.v1",
    version: "v1",
    services: ["service.instance.v1.InstanceService"],
    unstable: false,
    presence: "everywhere",
  },
  {
    package: "service.collection.v1",
    version: "v1",
    services: [
      "service.collection.v1.NamespaceService",
      "service.collection.v1.CollectionService",
      "service.collection.v1.DocumentService",
      "service.collection.v1.QueryService",
    ],
    unstable: false,
    presence: "native",
  },
  {
    package: "service.live.v1",
    version: "v1",
    services: ["service.live.v1.LiveService"],
    unstable: true,
    presence: "live",
  },
  {
    package: "service.graph.v1",
    version: "v1",
    services: ["service.graph.v1.GraphService"],
    unstable: false,
    presence: "absent",
  },
  {
    package: "service.house.v1",
    version: "v1",
    services: ["service.house.v1.HouseService"],
    unstable: false,
    presence: "by_house",
  },
];

export interface PackageStatus {
  readonly package: string;
  readonly version: string;
  readonly available: boolean;
  readonly services: readonly string[];
  readonly unstable: boolean;
}

export function packageStatuses(house: boolean, port: Port): PackageStatus[] {
  return catalogue.map(({ presence, ...status }) => ({ ...status, available: isServed(presence, house, port) }));
}

function isServed(presence: CataloguePackage["presence"], house: boolean, port: Port): boolean {
  if (presence === "by_house") return house && port === "native";
  return presence === "everywhere" || presence === port;
}

/** `service.live` of `service.live.v1.LiveService`: packages of one family share their fate over versions. */
function family(name: string): string {
  return name.split(".").slice(0, 2).join(".");
}

/** Whether an RPC of this service belongs to a catalogue package that this port does not serve. */
export function isAbsent(service: string, house: boolean, port: Port): boolean {
  const known = catalogue.find((entry) => family(entry.package) === family(service));
  return known !== undefined && !isServed(known.presence, house, port);
}
