// Decides where a worker samples rollouts, and where it writes adapters. The configuration of a run comes from whoever may start
// runs, the environment from whoever runs the worker. So the environment decides who gets its key and which folders change.
import { realpathSync } from 'node:fs';
import { basename, delimiter, dirname, join, resolve, sep } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import type { RolloutsConfig } from '../../core/schema/config.js';
import { localFolder } from '../../store/openStore.js';

export interface RolloutTarget {
  endpoint: string;
  adapters: string;
  key: string | undefined;
}

/** @throws GauntletError BAD_CONFIG naming the variable to set */
export function rolloutTarget(
  config: Pick<RolloutsConfig, 'endpoint' | 'adapters'>,
  store: string,
  env: Record<string, string | undefined>,
): RolloutTarget {
  const {
    GAUNTLET_ROLLOUTS_ENDPOINT: named,
    GAUNTLET_ROLLOUTS_API_KEY: key,
    GAUNTLET_ROLLOUTS_ADAPTERS: folders,
  } = env;
  const { endpoint, adapters } = config;
  if (key && !named)
    throw refused(
      'endpoint',
      `${endpoint} gets no GAUNTLET_ROLLOUTS_API_KEY, because only the configuration of the run names it: ` +
        'set GAUNTLET_ROLLOUTS_ENDPOINT for the workers, too',
    );
  const allowed = [localFolder(store), ...(folders ?? '').split(delimiter)].filter((folder) => folder !== '');
  if (!allowed.some((folder) => isInside(adapters, folder)))
    throw refused(
      'adapters',
      `${adapters} is outside of the store: set GAUNTLET_ROLLOUTS_ADAPTERS for the workers to a folder that contains it`,
    );
  return { endpoint: named || endpoint, adapters, key: key || undefined };
}

const refused = (field: string, why: string): GauntletError =>
  new GauntletError('BAD_CONFIG', `rollouts.${field}: ${why}`);

/** Whether a path leads into a folder, after its links and '..' are followed. */
function isInside(path: string, folder: string): boolean {
  const [inner, outer] = [realPath(resolve(path)), realPath(resolve(folder))];
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}

/** The real path of a path whose last parts need not exist. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(realPath(dirname(path)), basename(path));
  }
}
