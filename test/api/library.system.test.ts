// Runs the examples of the library's documentation in order, as programs that depend on the package, and checks their types
// against the declarations of the package.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openEngine } from '../../api/engine.js';
import { runPipeline } from '../../api/index.js';
import { openSandbox } from '../../api/sandbox.js';
import { openStore } from '../../api/store.js';
import { shippedModelPath } from '../../data/paths.js';
import { ROOT } from '../../infra/root.mjs';
import { digestModel } from '../../ml/hf/digest.js';
import { describeModel } from '../../ml/hf/model.js';

const run = promisify(execFile);

describe('the documentation of the library', () => {
  const [library, engine] = ['use-as-a-library', 'use-the-engine-alone'].map((name) =>
    readFileSync(`docs/how-to/${name}.md`, 'utf8'),
  ) as [string, string];
  const examplesOf = (page: string): [name: string, code: string][] =>
    [...page.matchAll(/```js\n\/\/ (\w+\.mjs)\n([\s\S]*?)```/g)].map(([, name, code]) => [name!, code!]);
  const examples = new Map([...examplesOf(library), ...examplesOf(engine)]);
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

  it('has an example of every entry point of the package', () => {
    const entries = Object.keys(JSON.parse(readFileSync('package.json', 'utf8')).exports as object);
    const imported = examplesOf(library).map(([, code]) => /from '(gauntlet[^']*)'/.exec(code)![1]!);
    const names = entries.filter((entry) => entry !== './package.json').map((entry) => entry.replace('.', 'gauntlet'));
    assert.deepEqual([...imported].sort(), names.sort());
  });

  it('has examples with correct types', async () => {
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

  it('has an example that samples, scores and trains', async () => {
    const output = await example('engine.mjs');
    assert.match(output, /\ngradient norm 0?\.\d+|\ngradient norm \d/);
    assert.match(output, /\nadapter_config\.json \d+\n/);
    assert.match(output, /\nadapter_model\.safetensors \d+\n/);
  });

  it('has an example that trains in a loop, saves, continues and merges', async () => {
    assert.match(
      await example('loop.mjs'),
      /^step 1: mean length [\d.]+, loss \S+\nstep 2: mean length [\d.]+, loss \S+\n$/,
    );
    assert.match(await example('merge.mjs'), /^step 3: cross entropy \d\.\d+\n$/);
    const merged = describeModel(join(folder, 'merged'));
    const shipped = describeModel(shippedModelPath('tiny'));
    assert.equal(merged.parameters, shipped.parameters);
    assert.notEqual(await digestModel(merged.path), await digestModel(shipped.path));
  });

  it('lists every field of the loss and of AdamW', () => {
    for (const [file, name, title] of [
      ['engine/engine.ts', 'LossConfig', '`loss`'],
      ['optim/adamw.ts', 'AdamWConfig', 'AdamW'],
    ] as const) {
      const [, body] = new RegExp(`interface ${name} \\{([^]*?)\\n\\}`).exec(readFileSync(`ml/${file}`, 'utf8'))!;
      const fields = [...body!.matchAll(/^ {2}(\w+)\??:/gm)].map((match) => match[1]!);
      const [, table] = new RegExp(`field of ${title} \\|[^]*?\\n((?:\\|.*\\n)+)`).exec(engine)!;
      const listed = [...table!.matchAll(/^\|([^|]*)\|/gm)].flatMap(([, cell]) =>
        [...cell!.matchAll(/`(\w+)`/g)].map((match) => match[1]!),
      );
      assert.deepEqual(listed.sort(), fields.sort(), name);
    }
  });

  it('has examples whose errors name the place of a wrong argument', async () => {
    const model = await openEngine('tiny');
    const [chat, store] = [model.chat(), join(folder, 'arguments')];
    const wrong: [call: (given: never) => unknown, given: unknown, message: RegExp][] = [
      [chat.openingTokens, [], /^messages: /],
      [chat.openingTokens, null, /^messages: /],
      [chat.openingTokens, [{ role: 'user' }], /^messages\[0\]\.content: must be a text/],
      [chat.openingTokens, [{ role: 'user', content: 5 }], /^messages\[0\]\.content: must be a text/],
      [chat.continuationTokens, 5, /^content: must be a text/],
      [runPipeline, { id: 'a', store, config: { bogus: 1 } }, /^bogus: /],
      [runPipeline, { store }, /^run id undefined/],
      [openSandbox, 'podman', /^sandbox: choose auto/],
      [openStore, null, /^store: give a folder/],
    ];
    for (const [call, given, message] of wrong)
      await assert.rejects(async () => call(given as never), { name: 'GauntletError', code: /^BAD_/, message });
    await model.close();
  });

  it('has an example that judges programs', async () =>
    assert.equal(await example('sandbox.mjs'), "[ 'pass', 'fail', 'pass' ]\n"));

  it('has an example that trains a run and reads its records', async () => {
    assert.match(
      await example('train.mjs'),
      /^step \d+: mean reward [\s\S]*pass rate [\d.]+ → [\d.]+, best checkpoint_/,
    );
    const output = await example('read.mjs');
    assert.match(output, /^checkpoint_stage_0_epoch_0 0 /);
    assert.match(output, /\ncheckpoint_\w+ \d+ bytes\n\d+ records of metrics\n$/);
  });
});
