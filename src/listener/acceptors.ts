import { type AddressInfo, createServer, type Server, type ServerOpts } from "node:net";
import type { Address } from "./address.ts";
import type { ListenerLimits } from "./limits.ts";

/**
 * Makes the server listen, and opens further sockets on its port. Node accepts one connection of a socket in each turn of
 * its event loop, and under load a turn takes long: with one socket a health check would wait behind thousands of others.
 * The system spreads connections over the sockets. Empty where it can't.
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
  const acceptors = Array.from({ length: limits.acceptorsMax - 1 }, () => createServer(socketOptions));
  try {
    await Promise.all(acceptors.map((each) => listen(each, bound, limits, true)));
    return acceptors;
  } catch (error) {
    for (const each of [server, ...acceptors]) each.close();
    throw error;
  }
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
