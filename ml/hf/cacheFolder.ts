// Where this project keeps what it can make again: digests, quantised weights. Nothing in it is needed for ever.
import { homedir } from 'node:os';
import { join } from 'node:path';

/** GAUNTLET_CACHE, else `gauntlet` in the user's cache folder. It need not exist. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  return env.GAUNTLET_CACHE || join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'gauntlet');
}
