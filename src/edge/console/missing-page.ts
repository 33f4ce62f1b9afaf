import { createHash } from "node:crypto";

const style = `
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, sans-serif; margin: 15vh auto 0; max-width: 36rem; padding: 0 1.5rem; }
pre { background: #8882; border-radius: 8px; padding: .8rem 1rem; overflow: auto; }
`;

export const missingPageStyleHash = `'sha256-${createHash("sha256").update(style).digest("base64")}'`;

/** Shown at `/` while there is no bundle: the API works without it. */
export const missingPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>native-engine</title><style>${style}</style></head>
<body><main><h1>The console is not built yet</h1>
<p>The service runs and its API answers; only the console's files are missing. Make them in the project's folder and
reload this page:</p>
<pre>npm run build:console</pre>
<p><a href="/docs">API reference and guides</a></p></main></body></html>`;
