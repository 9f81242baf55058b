// SmolLM2-135M-Instruct, as `npm run real-model` provides it.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { modelFolder } from '../../infra/publicModels.mjs';
import { ROOT } from '../../infra/root.mjs';
import { cacheFolder } from '../../ml/hf/files.js';

export const smolLM2Folder = (): string => modelFolder(cacheFolder());

/** Downloads the model if it is missing and CI is set. @returns its folder; undefined if it is not there */
export function provideSmolLM2(): string | undefined {
  const folder = smolLM2Folder();
  if (!existsSync(folder) && process.env.CI) {
    const script = join(ROOT, 'tools', 'real-model.mjs');
    spawnSync(process.execPath, [script], { stdio: ['ignore', 'ignore', 2], timeout: 300_000 });
  }
  return existsSync(folder) ? folder : undefined;
}
