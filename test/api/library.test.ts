// Runs the examples of docs/how-to/use-as-a-library.md in order, as a program that depends on the package, and checks
// their types with the declarations of the package.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../infra/root.mjs';

const run = promisify(execFile);

describe('docs/how-to/use-as-a-library.md', function () {
  this.timeout(240_000);
  const page = readFileSync('docs/how-to/use-as-a-library.md', 'utf8');
  const examples = new Map(
    [...page.matchAll(/```js\n\/\/ (\w+\.mjs)\n([\s\S]*?)```/g)].map(([, name, code]) => [name!, code!]),
  );
  let folder: string;

  before(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'gauntlet-library-')));
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(ROOT, join(folder, 'node_modules', 'gauntlet'));
    for (const [name, code] of examples) writeFileSync(join(folder, name), code);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const example = async (name: string): Promise<string> => {
    const env = { ...process.env, GAUNTLET_THREADS: '1' };
    const { stdout } = await run(process.execPath, [name], { cwd: folder, env });
    return stdout;
  };

  it('has an example of every entry of the package', () => {
    const entries = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).exports as object);
    const imported = [...examples.values()].map((code) => /from '(gauntlet[^']*)'/.exec(code)![1]!);
    const names = entries.filter((entry) => entry !== './package.json').map((entry) => entry.replace('.', 'gauntlet'));
    assert.deepEqual([...imported].sort(), names.sort());
  });

  it('has examples whose types are right', async () => {
    const options = {
      allowJs: true,
      checkJs: true,
      noEmit: true,
      strict: true,
      target: 'ES2022',
      lib: ['ES2023'],
      module: 'NodeNext',
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules', '@types')],
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: [...examples.keys()] }),
    );
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    await run(process.execPath, [tsc, '-p', folder]).catch(({ stdout }) => assert.fail(stdout as string));
  });

  it('samples, scores and trains', async () => {
    const output = await example('engine.mjs');
    assert.match(output, /\ngradient norm 0?\.\d+|\ngradient norm \d/);
    assert.match(output, /\nadapter_config\.json \d+\n/);
    assert.match(output, /\nadapter_model\.safetensors \d+\n/);
  });

  it('judges programs', async () => assert.equal(await example('sandbox.mjs'), "[ 'pass', 'fail', 'pass' ]\n"));

  it('trains, and reads what the run wrote', async () => {
    assert.match(
      await example('train.mjs'),
      /^step \d+: mean reward [\s\S]*pass rate [\d.]+ → [\d.]+, best checkpoint_/,
    );
    const output = await example('read.mjs');
    assert.match(output, /^checkpoint_stage_0_epoch_0 0 /);
    assert.match(output, /\ncheckpoint_\w+ \d+ bytes\n\d+ records of metrics\n$/);
  });
});
