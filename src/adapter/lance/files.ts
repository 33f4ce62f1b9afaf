const newest = 2n ** 64n - 1n;

/**
 * The files of a dataset's folder that one of its versions needs, of all that are there. A version is one file that
 * names others, numbered from the top down so that the newest is listed first; what only later versions name comes
 * along and is taken for the leftovers of a crash. Tags are not needed: they are made where versions are freed.
 */
export function filesOfVersion(paths: readonly string[], version: number): readonly string[] {
  const manifest = `/_versions/${String(newest - BigInt(version)).padStart(20, "0")}.manifest`;
  if (!paths.some((path) => path.endsWith(manifest))) return [];
  return paths.filter((path) => path.endsWith(manifest) || !/\.lance\/_(?:versions|refs|transactions)\//.test(path));
}
