// `npm run parity`: repeats live what test/ml/parity.test.ts holds against a recording. Makes a Python environment with
// the pinned torch, transformers and peft (or takes GAUNTLET_PYTHON), computes the reference anew, and runs the same
// tests on it; then compares base and adapter as transformers + peft load them. Python serves as the judge only.
import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot, tinyModelPath } from '../data/paths.js';
import { providePython, TORCH_REQUIREMENTS } from './python.js';

const root = packageRoot();
const scripts = join(root, 'test', 'ml', 'parity');
const cache = join(root, '.cache', 'parity');

function run(command: string, args: string[], env: SpawnSyncOptions['env'] = {}): void {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  if (error || status !== 0) fail(error ?? new Error(`${command} ${args[0] ?? ''} failed`));
}

function say(line: string): void {
  console.error(`parity: ${line}`);
}

function fail(error: Error): never {
  say(error.message);
  process.exit(1);
}

mkdirSync(cache, { recursive: true });
const given = process.env.GAUNTLET_PYTHON;
const interpreter = given || (await providePython({ requirements: [TORCH_REQUIREMENTS], say }).catch(fail));
const recording = join(cache, 'live.safetensors');
run(interpreter, ['-W', 'ignore', join(scripts, 'record.py'), recording]);
run('npx', ['mocha', 'dist/test/ml/parity.test.js'], { GAUNTLET_PARITY: recording });
if (existsSync(join(tinyModelPath(), 'model.safetensors'))) {
  const adapter = join(cache, 'adapter');
  rmSync(adapter, { recursive: true, force: true });
  run(interpreter, ['-W', 'ignore', join(scripts, 'check_transformers.py'), tinyModelPath(), adapter, 'make']);
}
