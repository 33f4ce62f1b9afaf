// Buffer's own per-encoding methods: public in every Node release, but missing from its type declarations. They skip
// the encoding look-up of toString, which counts where thousands of small values are written into one answer.
declare global {
  interface Buffer {
    base64Slice(start?: number, end?: number): string;
    base64Write(text: string, offset?: number, length?: number): number;
    latin1Write(text: string, offset?: number, length?: number): number;
    latin1Slice(start?: number, end?: number): string;
    utf8Slice(start?: number, end?: number): string;
  }
}

export {};
