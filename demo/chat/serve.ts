/**
 * A chat in which every browser sees what the others write.
 *
 *   SERVICE_CORS_ORIGINS=http://127.0.0.1:3000 npm start
 *   npx native-engine ns create chat && npx native-engine live deploy demo/chat/functions -n chat
 *   node demo/chat/serve.ts          then open http://127.0.0.1:3000 in two browsers
 */
import { createServer, type Server } from "node:http";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export interface ChatOptions {
  /** Of the Live engine. */
  readonly url: string;
  readonly namespace: string;
}

const folder = fileURLToPath(new URL(".", import.meta.url));

/** The page with its script. Its calls go to the Live engine itself, which has to allow its origin. */
export async function chatServer(options: ChatOptions): Promise<Server> {
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ["app.ts"],
    bundle: true,
    write: false,
    format: "esm",
    define: { "process.env.NODE_ENV": '"production"' },
    minify: true,
  });
  const settings = JSON.stringify(options).replaceAll("<", "\\u003c");
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Chat</title>
<style>body { font: 16px system-ui; max-width: 40rem; margin: 2rem auto } ul { list-style: none; padding: 0 } input { width: 70% }</style>
<div id="root"></div><script id="settings" type="application/json">${settings}</script><script type="module" src="/app.js"></script></html>`;
  return createServer((request, response) => {
    const isScript = request.url === "/app.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    response.end(isScript ? outputFiles[0]!.text : page);
  });
}

if (import.meta.main) {
  const { SERVICE_LIVE_URL: url = "http://127.0.0.1:7710", SERVICE_NAMESPACE: namespace = "chat", PORT = "3000" } =
    process.env;
  (await chatServer({ url, namespace })).listen(Number(PORT), "127.0.0.1", () => {
    console.log(`http://127.0.0.1:${PORT}`);
  });
}
