/**
 * The folder for files that can be made or fetched again: GAUNTLET_CACHE, or by default `gauntlet` in the user's cache folder.
 * The folder need not exist yet.
 */
export function cacheFolder(env: Record<string, string | undefined>, home: string): string {
  const { GAUNTLET_CACHE, XDG_CACHE_HOME, HOME } = env;
  return GAUNTLET_CACHE || `${XDG_CACHE_HOME || `${HOME || home}/.cache`}/gauntlet`;
}
