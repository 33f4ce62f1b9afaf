import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export interface Embeddings {
  readonly url: string;
  readonly close: () => void;
}

/** An endpoint that speaks as OpenAI's does, with vectors of the words in a text instead of a model's. */
export async function startEmbeddings(dim = 64): Promise<Embeddings> {
  const server = createServer(async (request, response) => {
    const { model, input } = (await json(request)) as { model: string; input: readonly string[] };
    const data = input.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text, dim) }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", model, data }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/v1/embeddings`, close: () => server.close() };
}

function vectorOf(text: string, dim: number): number[] {
  const vector = new Array<number>(dim).fill(0);
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    let hash = 0;
    for (const letter of word) hash = (hash * 31 + letter.charCodeAt(0)) % dim;
    vector[hash]! += 1;
  }
  return vector;
}
