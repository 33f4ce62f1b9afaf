/** The part of WebAssembly used here; the configured libraries do not declare it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer };
  Instance: new (module: object, imports: object) => { readonly exports: unknown };
};

const pageBytes = 65_536;

/** The numbers of a module that its functions set. */
export interface Global {
  readonly value: number;
}

/**
 * Instantiates a module of wasm/ from its text form, with so many bytes of memory; `imports` makes its functions of the
 * host out of that memory.
 */
export function instantiate(
  binary: string,
  memoryBytes: number,
  imports: (memory: Buffer) => Readonly<Record<string, (...args: number[]) => unknown>> = () => ({}),
): { exports: unknown; memory: Buffer } {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(memoryBytes / pageBytes) });
  const bytes = Buffer.from(memory.buffer);
  const module = new WebAssembly.Module(Buffer.from(binary, "base64"));
  const { exports } = new WebAssembly.Instance(module, { env: { memory, ...imports(bytes) } });
  return { exports, memory: bytes };
}
