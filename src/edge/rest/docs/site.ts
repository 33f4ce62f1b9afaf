import swagger from "@fastify/swagger";
import fastify from "fastify";
import { type Route, wholeSchema } from "../route.ts";
import { describeApi } from "./description.ts";
import { type Guide, loadGuides } from "./guides.ts";
import { docsPage, docsPolicy, guidePage, searchPage } from "./page.ts";

/** What is told of this server: its API and the guides. Loaded with the first request for it. */
export class Site {
  /** The API as an OpenAPI document. */
  readonly document: object;
  /** The Content-Security-Policy of its pages. */
  readonly policy = docsPolicy;
  readonly #guides: readonly Guide[];

  private constructor(document: object) {
    this.document = document;
    this.#guides = loadGuides();
  }

  static async open(version: string, routes: readonly Route[]): Promise<Site> {
    // Answers nothing: the routes are registered once more for the library that describes them.
    const app = fastify({ exposeHeadRoutes: true });
    app.setValidatorCompiler(() => () => true);
    app.setSerializerCompiler(() => JSON.stringify);
    await app.register(swagger, { openapi: openapiInfo(version) });
    await app.register(async (scope) => {
      for (const route of routes) {
        const { method, url } = route;
        scope.route({ method, url, schema: wholeSchema(route), handler: () => undefined });
      }
    });
    await app.ready();
    return new Site(describeApi(app.swagger()));
  }

  /** With words, the sections that contain them all. */
  page(words: string): string {
    const document = this.document as Parameters<typeof docsPage>[0];
    return words === "" ? docsPage(document, this.#guides) : searchPage(words, this.#guides);
  }

  guide(name: string): string | undefined {
    const guide = this.#guides.find((each) => each.name === name);
    return guide && guidePage(guide);
  }
}

function openapiInfo(version: string) {
  return {
    openapi: "3.1.0",
    info: {
      title: "native-engine",
      version,
      description: "Durable streams, hybrid search and SQL in one process",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    components: { securitySchemes: { bearer: { type: "http" as const, scheme: "bearer" } } },
    security: [{ bearer: [] }],
  };
}
