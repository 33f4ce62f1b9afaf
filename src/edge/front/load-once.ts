/** What is loaded when it is first asked for. Where that fails, the next one to ask has it tried again. */
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
