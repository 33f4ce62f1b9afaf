export interface Random {
  bytes(count: number): Uint8Array;
  /** A number from 0 up to, but not including, 1. */
  next(): number;
}
