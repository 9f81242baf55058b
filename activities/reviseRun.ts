// Applies a live change of the configuration. Later memo keys contain the new configuration.
import type { Scope } from '../chains/scope.js';
import { applyConfigPatch } from '../core/liveConfig.js';
import { runIdentity } from '../core/schema/config.js';
import type { ReviseRunInput, ReviseRunOutput } from '../method/prepare.js';

export async function reviseRun({ store }: Scope, { run, config, fields }: ReviseRunInput): Promise<ReviseRunOutput> {
  const revised = applyConfigPatch(config, fields);
  return { run: { ...run, config: await store.putJson(runIdentity(revised)) }, config: revised };
}
