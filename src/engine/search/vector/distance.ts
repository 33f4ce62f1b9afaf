/**
 * Inner product in double precision. The order of the additions is fixed, so that a vector scores the same wherever it
 * is stored.
 */
export function dotAt(query: Float32Array, data: Float32Array, offset: number, dim: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let i = 0;
  for (const end = dim - 3; i < end; i += 4) {
    const at = offset + i;
    a += query[i]! * data[at]!;
    b += query[i + 1]! * data[at + 1]!;
    c += query[i + 2]! * data[at + 2]!;
    d += query[i + 3]! * data[at + 3]!;
  }
  for (; i < dim; i++) a += query[i]! * data[offset + i]!;
  return a + b + (c + d);
}

export function squaredDistanceAt(query: Float32Array, data: Float32Array, offset: number, dim: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let i = 0;
  for (const end = dim - 3; i < end; i += 4) {
    const at = offset + i;
    const w = query[i]! - data[at]!;
    const x = query[i + 1]! - data[at + 1]!;
    const y = query[i + 2]! - data[at + 2]!;
    const z = query[i + 3]! - data[at + 3]!;
    a += w * w;
    b += x * x;
    c += y * y;
    d += z * z;
  }
  for (; i < dim; i++) {
    const w = query[i]! - data[offset + i]!;
    a += w * w;
  }
  return a + b + (c + d);
}

/** 1 / length, and 0 for a zero vector, so that its cosine is 0. */
export function inverseNorm(vector: Float32Array): number {
  const squared = dotAt(vector, vector, 0, vector.length);
  return squared === 0 ? 0 : 1 / Math.sqrt(squared);
}
