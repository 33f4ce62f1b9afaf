import type { FastifyReply } from "fastify";
import { notFound } from "../../../engine/errors.ts";
import { loadOnce } from "../../front/load-once.ts";
import type { Route } from "../route.ts";
import { answer, object, text, textAnswer } from "../schemas.ts";
import type { Site } from "./site.ts";

/** The API's description, and the pages that show it and the guides. */
export function docsRoutes(version: string, routes: () => readonly Route[]): Route[] {
  const site = loadOnce(async () => (await import("./site.ts")).Site.open(version, routes()));
  const sendPage = (reply: FastifyReply, { policy }: Site, page: string) =>
    reply
      .header("content-type", "text/html; charset=utf-8")
      .header("content-security-policy", policy)
      .header("x-content-type-options", "nosniff")
      .send(page);
  return [
    {
      method: "GET",
      url: "/openapi.json",
      access: "signed-in",
      tag: "operations",
      schema: {
        summary: "This API as an OpenAPI 3.1 document",
        response: { 200: answer("The document", {}) },
      },
      handler: async () => (await site()).document,
    },
    {
      method: "GET",
      url: "/docs",
      access: "signed-in",
      tag: "operations",
      schema: {
        summary: "The guides and this API as a page; with `q`, the sections that contain all its words",
        querystring: object({ q: { ...text, maxLength: 200 } }),
        response: { 200: textAnswer("The page", "text/html") },
      },
      handler: async (request, reply) => {
        const { q = "" } = request.query as { q?: string };
        const shown = await site();
        return sendPage(reply, shown, shown.page(q));
      },
    },
    {
      method: "GET",
      url: "/docs/:page",
      access: "signed-in",
      tag: "operations",
      schema: {
        summary: "One guide as a page",
        params: object({ page: text }, ["page"]),
        response: { 200: textAnswer("The page", "text/html") },
      },
      handler: async (request, reply) => {
        const { page } = request.params as { page: string };
        const shown = await site();
        const guide = shown.guide(page);
        if (guide === undefined) throw notFound(`there is no guide ${page}; /docs lists them`);
        return sendPage(reply, shown, guide);
      },
    },
  ];
}
