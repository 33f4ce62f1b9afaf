import { Socket } from "node:net";
import type { ChildParent, ChildService } from "../../port/children.ts";
import { Channel } from "./channel.ts";

/** Where a child's end of the channel is. */
const channelDescriptor = 3;

/** What the two ends tell each other before anything else. */
export interface Hello {
  readonly data: unknown;
}

/**
 * The child's side, called once by its entry file: makes the service of what the parent tells first, then answers. The
 * process ends with its parent.
 */
export function serveParent(create: (data: unknown, parent: ChildParent) => Promise<ChildService>): void {
  // A terminal and a service manager signal the whole group; when the work is over is the parent's to say.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const socket = new Socket({ fd: channelDescriptor, readable: true, writable: true });
  // Without the hooks of an ordinary end: native work may be under way, and would touch memory that is gone.
  const end = () => process.kill(process.pid, "SIGKILL");
  let service: Promise<ChildService> | undefined;
  const channel = new Channel(
    socket,
    (message) => {
      if (service !== undefined) return service.then((running) => running.handle(message));
      service = create((message as Hello).data, channel);
      return service.then(() => undefined);
    },
    end,
  );
}
