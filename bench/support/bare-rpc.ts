// The peer: the RPC library as its own adapter serves it, with a handler that does nothing.
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Health } from "../../src/gen/grpc/health/v1/health_pb.ts";

const handler = connectNodeAdapter({
  routes: (router: ConnectRouter) => {
    router.service(Health, { check: () => ({ status: 1 }) });
  },
});

const server = process.argv[2] === "http2" ? createHttp2Server(handler) : createServer(handler);
server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit(0));
