// Applies a live change of the configuration. Later memo keys contain the new configuration.
import { applyConfigPatch } from '../../core/config/liveConfig.js';
import { runIdentity } from '../../core/schema/config.js';
import type { ReviseRunInput, ReviseRunOutput } from '../../method/prepare.js';
import type { Scope } from '../scope.js';

export async function reviseRun({ store }: Scope, { run, config, fields }: ReviseRunInput): Promise<ReviseRunOutput> {
  const revised = applyConfigPatch(config, fields);
  return { run: { ...run, config: await store.putJson(runIdentity(revised)) }, config: revised };
}
