/** Storage that may be switched off in a browser: then nothing is kept, and nothing fails. */
function guarded(storage: () => Storage) {
  return {
    get(key: string): string | undefined {
      try {
        return storage().getItem(`native-engine.${key}`) ?? undefined;
      } catch {
        return undefined;
      }
    },
    set(key: string, value: string | undefined): void {
      try {
        if (value === undefined) storage().removeItem(`native-engine.${key}`);
        else storage().setItem(`native-engine.${key}`, value);
      } catch {
        // Nothing is kept.
      }
    },
  };
}

/** For this tab. */
export const tabStorage = guarded(() => sessionStorage);
/** For this browser. */
export const browserStorage = guarded(() => localStorage);
