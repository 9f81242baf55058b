// The mutation check on a toy project.
import assert from 'node:assert/strict';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { relevance } from '../../infra/mutants/relevance.mjs';
import { withStub } from '../../infra/mutants/stub.mjs';
import { findTargets } from '../../infra/mutants/targets.mjs';
import { mutateStubs } from '../../infra/mutate-stubs.mjs';
import { ROOT } from '../../infra/root.mjs';
import { removeTemporaryFolders, runNode, temporaryFolder } from './support.js';

const TOY = {
  'package.json': '{"type":"module"}',
  'dist/activities/index.js':
    "import { compositeActivities } from './compositeActivities.js';\nimport { createLeafActivities } from './leafActivities.js';\nexport const createActivities = (deps) => { const leaf = createLeafActivities(deps); return { ...leaf, ...compositeActivities(leaf) }; };\n",
  'dist/activities/leafActivities.js':
    "import { count } from './count.js';\nexport const createLeafActivities = (deps) => ({ count: (input) => count(deps, input) });\n",
  'dist/activities/compositeActivities.js':
    'export function compositeActivities(leaf) { return { twice: async (input) => 2 * (await leaf.count(input)).length, idle: async () => 1 }; }\n',
  'dist/activities/count.js':
    'export async function count(deps, input) { return { length: input.length }; }\n//# sourceMappingURL=count.js.map',
  'dist/core/rewards/rewards.js':
    "export const RULES = { plain: { role: 'both', generator: (x) => x / 2, discriminator: (xs) => xs.map((x) => -x) } };\nexport const share = (x) => x / 4;\n",
  'dist/ml/autodiff/rules.js':
    "export const VJP = { Mul: ({ node: { inputs }, dy }) => [dy * inputs[1], dy * inputs[0]], Floor: 'nondifferentiable' };\nexport const helper = () => 1;\n",
  'dist/core/parse/words.js':
    "export class Problem extends Error {}\nexport const LIMIT = 3;\nexport const words = (text) => { if (text === '') throw new Problem('empty'); return { words: text.split(' '), big: 2n, ok: true, f: () => 1 }; };\nexport function untested(text) { return text; }\n",
  'dist/test/all.test.js': `import assert from 'node:assert/strict';
import { createActivities } from '../activities/index.js';
import { RULES, share } from '../core/rewards/rewards.js';
import { VJP } from '../ml/autodiff/rules.js';
import { untested, words } from '../core/parse/words.js';
it('counts', async () => assert.deepEqual(await createActivities({}).count('abc'), { length: 3 }));
it('counts twice', async () => assert.equal(await createActivities({}).twice('abc'), 6));
it('rewards', () => assert.deepEqual([RULES.plain.generator(3), RULES.plain.discriminator([1]), share(4)], [1.5, [-1], 1]));
it('differentiates', () => assert.deepEqual(VJP.Mul({ node: { inputs: [2, 3] }, dy: 1 }), [3, 2]));
it('parses', () => { assert.deepEqual(words('a b').words, ['a', 'b']); untested('a'); });
`,
  'dist/test/far.test.js': "it('imports nothing', () => {});\n",
};
const NAMES = [
  'activity activities/count:count',
  'composite activities/compositeActivities:compositeActivities.idle',
  'composite activities/compositeActivities:compositeActivities.twice',
  'gradient ml/autodiff/rules:VJP.Mul',
  'parser core/parse/words:untested',
  'parser core/parse/words:words',
  'reward core/rewards/rewards:RULES.plain.discriminator',
  'reward core/rewards/rewards:RULES.plain.generator',
  'reward core/rewards/rewards:share',
];

describe('the mutation check', function () {
  this.timeout(120_000);
  afterEach(removeTemporaryFolders);

  const toy = (files: Record<string, string> = {}) => {
    const folder = temporaryFolder({ ...TOY, ...files });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return folder;
  };

  it('finds all targets, kills the stubs of tested functions, reports the others and leaves dist unchanged', async () => {
    const root = toy();
    const lines: string[] = [];
    const results = await mutateStubs({ root, jobs: 2, log: (line) => lines.push(line) });
    assert.deepEqual(results.map(({ target }) => target).sort(), NAMES);
    const survivors = results.filter(({ killedBy }) => killedBy === undefined);
    assert.deepEqual(
      survivors.map(({ target }) => target),
      ['composite activities/compositeActivities:compositeActivities.idle', 'parser core/parse/words:untested'],
    );
    assert.equal(results.find(({ target }) => target.endsWith('Mul'))?.killedBy, 'test/all.test: differentiates');
    assert.equal(lines.length, NAMES.length);
    for (const [name, text] of Object.entries(TOY)) assert.equal(readFileSync(join(root, name), 'utf8'), text, name);
  });

  it('finds tests that reach a module through the workflow bundle, a thread or the command', () => {
    const loads = (path: string) => `import '${path}.js';\n`; // no import of this file
    const command = ['bin', 'gauntlet.mjs'].join('/');
    const starting = toy({
      'dist/workers/bundle.js': "const DIST = '';\njoin(DIST, 'workflows', 'index.js');\n",
      'dist/workflows/index.js': "export * from './run.js';\n",
      'dist/workflows/run.js': '',
      'dist/ml/pool.js': "new URL('./thread.js', import.meta.url);\n",
      'dist/ml/thread.js': '',
      'dist/cli/main.js': '',
      'dist/test/workflows/run.test.js': loads('../../workers/bundle') + loads('../../ml/pool'),
      'dist/test/abc.test.js': `${loads('../workflows/run')}spawn('${command}');\n`,
    });
    const testsFor = relevance(join(starting, 'dist'));
    const of = (module: string) => testsFor({ kind: 'parser', module, path: ['x'] });
    assert.deepEqual(of('workflows/run.js'), ['test/workflows/run.test.js', 'test/abc.test.js']);
    assert.deepEqual(of('ml/thread.js'), ['test/workflows/run.test.js']);
    assert.deepEqual(of('cli/main.js'), ['test/abc.test.js']);
  });

  it('finds the targets of this project, including composite activities', async () => {
    const testsFor = relevance(join(ROOT, 'dist'));
    const targets = await findTargets(join(ROOT, 'dist'));
    for (const [name, test] of [
      ['activity computeRewards', 'test/activities/'],
      ['composite compositeActivities.trainPolicy', 'test/activities/'],
      ['parser testsOfModule', 'test/core/'],
    ] as const) {
      const target = targets.find(({ kind, path }) => `${kind} ${path.join('.')}` === name);
      assert.ok(target && testsFor(target).some((file) => file.startsWith(test)), name);
    }
  });

  it('exits with status 1 and one line per survivor, or with 0 if there is none', async () => {
    const root = toy();
    const tool = join(ROOT, 'infra/mutate-stubs.mjs');
    const all = await runNode([tool, '--root', root, '--only', 'parser', '--jobs', '1']);
    assert.equal(all.code, 1);
    assert.match(
      all.text,
      /no test fails with a stub of parser core\/parse\/words:untested .*\n2 stubs, 1 killed, 1 survived\n$/,
    );
    const one = await runNode([tool, '--root', root, '--only', 'activity']);
    assert.deepEqual([one.code, one.text.trim().split('\n').at(-1)], [0, '1 stubs, 1 killed, 0 survived']);
    assert.equal((await runNode([tool, '--root', root, '--only', 'no such target'])).code, 1);
  });

  it('ignores tests that fail without a stub', async () => {
    const root = toy({ 'dist/test/all.test.js': `${TOY['dist/test/all.test.js']}it('fails', () => assert.fail());` });
    const [result] = await mutateStubs({ root, only: 'share' });
    assert.equal(result?.killedBy, undefined);
    assert.equal(result?.why, 'pass: none; test/all.test.js fail without any change');
  });

  it('reports a module that no test imports, and an activity without a file', async () => {
    const lonely = toy({ 'dist/test/all.test.js': '' });
    assert.equal((await mutateStubs({ root: lonely, only: 'share' }))[0]?.why, 'no test imports it');
    const homeless = toy({
      'dist/activities/leafActivities.js': 'export const createLeafActivities = () => ({ nowhere() {} });',
    });
    await assert.rejects(findTargets(join(homeless, 'dist')), /activity nowhere has no file activities\/nowhere\.js/);
  });

  it('replaces the function for calls inside its own module too', async () => {
    const source =
      'export const half = (x) => x / 2;\nexport const quarter = (x) => half(half(x)) + 1;\n//# sourceMappingURL=a.js.map';
    const folder = temporaryFolder({ 'a.mjs': withStub(source, { kind: 'reward', module: 'a.mjs', path: ['half'] }) });
    const { quarter } = await import(join(folder, 'a.mjs'));
    assert.equal(quarter(8), 1);
  });
});
