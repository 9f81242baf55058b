// `npm run parity`: runs the parity tests against new references instead of recordings. Creates a Python environment with the
// pinned torch, transformers and peft (or uses GAUNTLET_PYTHON), computes the references with it, draws new random shapes for
// updates, and runs the tests. Then it loads our bases and adapters with transformers and peft. Python serves for references
// only.
import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { shippedModelPath } from '../data/paths.js';
import { modelFolder } from '../infra/publicModels.mjs';
import { ROOT } from '../infra/root.mjs';
import { cacheFolder } from '../ml/hf/files.js';
import { providePython, TORCH_REQUIREMENTS } from './python.js';

const scripts = join(ROOT, 'test', 'ml', 'parity');
const cache = join(ROOT, '.cache', 'parity');

function run(command: string, args: string[], env: SpawnSyncOptions['env'] = {}): void {
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } });
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
const python = (script: string, ...args: string[]): void =>
  run(interpreter, ['-W', 'ignore', join(scripts, script), ...args]);
const test = (name: string, env: Record<string, string>): void => run('npx', ['mocha', `dist/test/ml/${name}`], env);

const recording = join(cache, 'live.safetensors');
python('record.py', recording);
test('parity.test.js', { GAUNTLET_PARITY: recording });

const objectives = join(cache, 'objectives.safetensors');
python('record_objectives.py', recording, objectives);
test('objectives.test.js', { GAUNTLET_PARITY: recording, GAUNTLET_OBJECTIVES: objectives });

const architectures = join(cache, 'architectures');
python('record_architectures.py', architectures);
test('architectures.test.js', { GAUNTLET_ARCHITECTURES: architectures });

const seed = process.env.GAUNTLET_SEED ?? String(Date.now() % 1_000_000);
say(`updates of seed ${seed} (repeat with GAUNTLET_SEED)`);
python('record_updates.py', cache, seed);
test('updateParity.system.test.js', { GAUNTLET_UPDATES: cache });

const smolLM2 = modelFolder(cacheFolder());
if (existsSync(smolLM2)) {
  const real = join(cache, 'smollm2.json');
  python('record_smollm2.py', smolLM2, real);
  test('realWeights.test.js', { GAUNTLET_SMOLLM2: real });
} else say('no SmolLM2, which npm run real-model fetches: its weights are not compared');

const folders = readdirSync(architectures, { withFileTypes: true }).filter((entry) => entry.isDirectory());
const models = [shippedModelPath('tiny'), ...folders.map(({ name }) => join(architectures, name))];
for (const model of models.filter((path) => existsSync(join(path, 'config.json')))) {
  const adapter = join(cache, 'adapter');
  rmSync(adapter, { recursive: true, force: true });
  say(`${model} and one of our adapters, loaded by transformers and peft`);
  python('check_transformers.py', model, adapter, 'make');
}
