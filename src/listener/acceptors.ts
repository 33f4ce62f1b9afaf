import { type AddressInfo, createServer, type Server, type ServerOpts } from "node:net";
import type { Address } from "./address.ts";
import type { ListenerLimits } from "./limits.ts";

/**
 * Makes the server listen, and opens further sockets on its port. The runtime accepts one connection of a socket in each
 * turn of its event loop, and under load a turn takes long: with one socket a health check would wait behind thousands of
 * others that connect. The system spreads connections over the sockets. Empty where it has no such thing.
 */
export async function openAcceptors(
  server: Server,
  address: Address,
  limits: ListenerLimits,
  socketOptions: ServerOpts,
): Promise<Server[]> {
  const { host, port } = address;
  // A socket that shares its port would not notice another server on it.
  if (port !== 0) await listen(createServer(), address, limits, false).then(close);
  try {
    await listen(server, address, limits, true);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") throw error;
    await listen(server, address, limits, false);
    return [];
  }
  const bound = { host, port: (server.address() as AddressInfo).port };
  const acceptors: Server[] = [];
  try {
    for (let i = 1; i < limits.acceptorsMax; i++) {
      acceptors.push(await listen(createServer(socketOptions), bound, limits, true));
    }
  } catch (error) {
    for (const each of [server, ...acceptors]) each.close();
    throw error;
  }
  return acceptors;
}

function listen(server: Server, address: Address, limits: ListenerLimits, reusePort: boolean): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    // Without a host Node takes every interface, of IPv6 too where the machine has it.
    const host = address.host === "::" ? {} : { host: address.host };
    server.listen({ ...host, port: address.port, backlog: limits.backlogMax, reusePort }, () => {
      server.off("error", reject);
      resolve(server);
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
