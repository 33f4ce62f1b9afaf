import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What the daemon knows about a peer, by `ip:port`; a text is sent as it is, to try broken answers. */
export type Whois = object | string;

/** The local API of a mesh daemon: a real HTTP server on a unix socket. */
export class MeshDaemon {
  readonly socketPath: string;
  readonly #folder: string;
  readonly #server: Server;
  readonly peers = new Map<string, Whois>();
  status: number | undefined;
  silent = false;
  readonly asked: string[] = [];

  private constructor(folder: string) {
    this.#folder = folder;
    this.socketPath = join(folder, "daemon.sock");
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? "", "http://daemon");
      const place = url.searchParams.get("addr") ?? "";
      this.asked.push(place);
      if (this.silent) return;
      const peer = this.peers.get(place);
      if (url.pathname !== "/localapi/v0/whois" || request.headers.host !== "local-tailscaled.sock") {
        response.writeHead(403).end();
      } else if (this.status !== undefined) response.writeHead(this.status).end("trouble");
      else if (peer === undefined) response.writeHead(404).end("no match for IP:port");
      else response.writeHead(200).end(typeof peer === "string" ? peer : JSON.stringify(peer));
    });
  }

  static async start(): Promise<MeshDaemon> {
    const daemon = new MeshDaemon(await mkdtemp(join(tmpdir(), "mesh-")));
    await daemon.listen();
    return daemon;
  }

  async listen(): Promise<void> {
    this.#server.listen(this.socketPath);
    await once(this.#server, "listening");
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.stop();
    await rm(this.#folder, { recursive: true });
  }
}

export function user(login: string, id: number): object {
  return {
    Node: { ID: 10 + id, StableID: `n${id}`, Name: "laptop.net.example.", User: id },
    UserProfile: { ID: id, LoginName: login, DisplayName: "Ada Example" },
  };
}

export function taggedMachine(tags: readonly string[]): object {
  return {
    Node: { ID: 30, StableID: "n30", Name: "runner.net.example.", Tags: tags },
    UserProfile: { ID: 99, LoginName: "tagged-devices", DisplayName: "Tagged Devices" },
  };
}
