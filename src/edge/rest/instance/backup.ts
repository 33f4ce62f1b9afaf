import { Readable } from "node:stream";
import type { Backups } from "../../../engine/backup/backups.ts";
import type { Route } from "../route.ts";
import { textAnswer } from "../schemas.ts";

async function* startingWith<T>(first: T, rest: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield first;
    yield* rest;
  } finally {
    // A client that leaves before the second piece must not leave the backup's snapshot behind.
    await rest.return(undefined);
  }
}

export function backupRoutes(backups: Backups): Route[] {
  return [
    {
      method: "POST",
      url: "/v1/instance/backup",
      access: "instance-admin",
      tag: "operations",
      schema: {
        summary: "Back up the whole instance, including its keys, as a streamed archive",
        response: {
          200: textAnswer("The archive; complete only if its last member is checksums.sha256", "application/x-tar"),
        },
      },
      handler: async (_request, reply) => {
        const archive = backups.begin();
        // The first piece decides between an archive and an ordinary error.
        const first = await archive.next();
        reply.header("content-type", "application/x-tar").header("cache-control", "no-store");
        const pieces = first.done ? archive : startingWith(first.value, archive);
        return reply.send(Readable.from(pieces, { objectMode: false, highWaterMark: 1 }));
      },
    },
  ];
}
