import type { ServiceImpl } from "@connectrpc/connect";
import { notFound } from "../../engine/errors.ts";
import { type Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/grpc/health/v1/health_pb.ts";
import type { HealthState, HealthStatus } from "./health-state.ts";

const statuses: Readonly<Record<HealthStatus, Status>> = {
  unknown: Status.SERVICE_UNKNOWN,
  serving: Status.SERVING,
  "not-serving": Status.NOT_SERVING,
};

export function healthService(state: HealthState): ServiceImpl<typeof Health> {
  return {
    check({ service }) {
      const status = state.statusOf(service);
      if (status === "unknown") throw notFound(`unknown service ${service.slice(0, 200)}`);
      return { status: statuses[status] };
    },
    async *watch({ service }, { signal }) {
      for await (const status of state.watch(service, signal)) yield { status: statuses[status] };
    },
  };
}
