import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import { ServerReflection as ServerReflectionV1 } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionV1Alpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";

/** The two versions of the protocol differ in their package name alone, so one shape stands for both. */
interface ReflectionRequest {
  readonly host: string;
  readonly messageRequest:
    | { readonly case: "fileByFilename" | "fileContainingSymbol"; readonly value: string }
    | { readonly case: "allExtensionNumbersOfType" | "listServices"; readonly value: string }
    | { readonly case: "fileContainingExtension"; readonly value: { containingType: string; extensionNumber: number } }
    | { readonly case: undefined; readonly value?: undefined };
}

type ReflectionAnswer =
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

/** Answers what can be asked about the served definitions. */
export class Reflection {
  readonly #services: readonly DescService[];
  readonly #files = new Map<string, DescFile>();
  /** Every fully qualified name to the file that defines it. */
  readonly #symbols = new Map<string, DescFile>();

  constructor(services: readonly DescService[], more: readonly DescFile[]) {
    this.#services = services;
    for (const file of [...services.map((service) => service.file), ...more]) this.#addFile(file);
  }

  answer({ messageRequest: question }: ReflectionRequest): ReflectionAnswer {
    switch (question.case) {
      case "listServices": {
        const names = this.#services.map((service) => service.typeName).sort();
        return { case: "listServicesResponse", value: { service: names.map((name) => ({ name })) } };
      }
      case "fileByFilename":
        return this.#fileAnswer(this.#files.get(question.value), question.value);
      case "fileContainingSymbol":
        return this.#fileAnswer(this.#symbols.get(question.value.replace(/^\./, "")), question.value);
      case "fileContainingExtension":
        // The served definitions have no extensions.
        return this.#fileAnswer(
          undefined,
          `${question.value.containingType} extension ${question.value.extensionNumber}`,
        );
      case "allExtensionNumbersOfType":
        if (!this.#symbols.has(question.value.replace(/^\./, ""))) return this.#fileAnswer(undefined, question.value);
        return { case: "allExtensionNumbersResponse", value: { baseTypeName: question.value, extensionNumber: [] } };
      case undefined:
        return failure(Code.InvalidArgument, "the request asks for nothing");
    }
  }

  /** The file and all it needs, so that a client can build it without asking again. */
  #fileAnswer(file: DescFile | undefined, name: string): ReflectionAnswer {
    if (file === undefined) return failure(Code.NotFound, `not found: ${name.slice(0, 200)}`);
    const files = new Set<DescFile>();
    const visit = (one: DescFile): void => {
      if (files.has(one)) return;
      files.add(one);
      one.dependencies.forEach(visit);
    };
    visit(file);
    const fileDescriptorProto = [...files].map((one) => toBinary(FileDescriptorProtoSchema, one.proto));
    return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
  }

  #addFile(file: DescFile): void {
    if (this.#files.has(file.proto.name)) return;
    this.#files.set(file.proto.name, file);
    const types = [...file.messages];
    for (const message of types) {
      types.push(...message.nestedMessages);
      this.#symbols.set(message.typeName, file);
      for (const field of message.fields) this.#symbols.set(`${message.typeName}.${field.name}`, file);
      for (const nested of message.nestedEnums) this.#symbols.set(nested.typeName, file);
    }
    for (const one of file.enums) this.#symbols.set(one.typeName, file);
    for (const service of file.services) {
      this.#symbols.set(service.typeName, file);
      for (const method of service.methods) this.#symbols.set(`${service.typeName}.${method.name}`, file);
    }
    for (const dependency of file.dependencies) this.#addFile(dependency);
  }
}

function failure(code: Code, message: string): ReflectionAnswer {
  return { case: "errorResponse", value: { errorCode: code, errorMessage: message } };
}

export const reflectionServices: readonly DescService[] = [ServerReflectionV1, ServerReflectionV1Alpha];

/** What comes until the source ends or the signal is aborted. */
async function* until<T>(signal: AbortSignal, source: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const stopped = Promise.withResolvers<undefined>();
  const stop = () => stopped.resolve(undefined);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), stopped.promise]);
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** A caller may keep its stream open for as long as it likes, until the process drains. */
export function addReflection(router: ConnectRouter, reflection: Reflection, draining: AbortSignal): void {
  router.service(ServerReflectionV1, {
    async *serverReflectionInfo(requests) {
      for await (const request of until(draining, requests)) {
        yield { validHost: request.host, originalRequest: request, messageResponse: reflection.answer(request) };
      }
    },
  });
  router.service(ServerReflectionV1Alpha, {
    async *serverReflectionInfo(requests) {
      for await (const request of until(draining, requests)) {
        yield { validHost: request.host, originalRequest: request, messageResponse: reflection.answer(request) };
      }
    },
  });
}
