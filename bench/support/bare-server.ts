// The peer: a bare node:http server that parses the same body and sends an answer of the same size, storing nothing.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const answerBytes = Number(process.argv[2]);
const answer = Buffer.alloc(answerBytes, "a");

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    if (chunks.length > 0) JSON.parse(Buffer.concat(chunks).toString());
    response.writeHead(200, { "content-type": "application/json", "content-length": answerBytes });
    response.end(answer);
  });
});
server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit(0));
