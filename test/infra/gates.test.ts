// The gates of the test command must be able to close: each is shown a fault.
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { checkDependencies } from '../../infra/check-deps.mjs';
import { ROOT } from '../../infra/root.mjs';
import { removeTemporaryFolders, runNode, temporaryFolder } from './support.js';

/** rule → [file, its text], each breaking that rule; `leaf.ts` files exist in every folder they name. */
const VIOLATIONS: Record<string, [string, string]> = {
  'no-unresolved': ['cli/a.ts', "import './nowhere.js';"],
  'no-cycles': ['store/a.ts', "import './b.js';"],
  'core-is-a-leaf': ['core/a.ts', "import '../store/leaf.js';"],
  'core-is-pure': ['core/b.ts', "import 'node:fs';"],
  'core-only-zod': ['core/c.ts', "import 'pino';"],
  'ml-sees-core': ['ml/hf/a.ts', "import '../../store/leaf.js';"],
  'ml-compiler-is-pure': ['ml/ir/a.ts', "import '../engine/leaf.js';"],
  'ml-compiler-no-io': ['ml/nn/a.ts', "import 'node:fs';"],
  'ort-only-in-device': ['ml/hf/b.ts', "import 'onnxruntime-node';"],
  'ports-see-core': ['data/a.ts', "import '../ml/engine/leaf.js';"],
  'sandbox-backends-are-siblings': ['sandbox/wasm/a.ts', "import '../docker/leaf.js';"],
  'report-sees-core': ['report/a.ts', "import '../store/leaf.js';"],
  'report-in-a-thread': ['workers/b.ts', "import '../report/leaf.js';"],
  'infra-sees-core': ['infra/a.ts', "import '../store/leaf.js';"],
  'activities-see-ports': ['activities/a.ts', "import '../workflows/leaf.js';"],
  'activities-use-sandbox-port': ['activities/b.ts', "import '../sandbox/docker/leaf.js';"],
  'workflows-see-core': ['workflows/a.ts', "import '../store/leaf.js';"],
  'workflows-type-only-activities': ['workflows/b.ts', "import '../activities/leaf.js';"],
  'workflows-deterministic': ['workflows/c.ts', "import 'node:crypto';"],
  'cli-starts-workflows-by-type': ['cli/b.ts', "import '../workflows/leaf.js';"],
  'nothing-imports-roots': ['store/c.ts', "import '../workers/leaf.js';"],
  'no-test-in-source': ['store/d.ts', "import '../test/leaf.js';"],
};
const LEAVES = [
  'store',
  'ml/engine',
  'sandbox/docker',
  'sandbox/guest',
  'workflows',
  'activities',
  'workers',
  'test',
  'core',
  'report',
];
const LEAF = 'export const leaf = 1;\nexport type Leaf = number;\n';

describe('the directions of dependency', function () {
  this.timeout(180_000); // a busy machine
  after(removeTemporaryFolders);

  const tree = (files: Record<string, string>) => {
    const folder = temporaryFolder({
      ...Object.fromEntries(LEAVES.map((name) => [`${name}/leaf.ts`, LEAF])),
      ...files,
    });
    for (const name of ['.dependency-cruiser.cjs', 'tsconfig.json', 'package.json'])
      copyFileSync(join(ROOT, name), join(folder, name));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    return folder;
  };
  let problems: string[] = [];
  before(async () => {
    const files = { ...Object.fromEntries(Object.values(VIOLATIONS)), 'store/b.ts': "import './a.js';" };
    ({ problems } = await checkDependencies(tree(files)));
  });

  for (const [rule, [file]] of Object.entries(VIOLATIONS)) {
    it(`${rule} fires on a seeded violation`, () => {
      assert.ok(
        problems.some((problem) => problem.startsWith(`${rule}: ${file} `)),
        problems.join('\n'),
      );
    });
  }

  it('have a seeded violation for every rule', async () => {
    const { default: config } = await import(join(ROOT, '.dependency-cruiser.cjs'));
    assert.deepEqual(config.forbidden.map(({ name }: { name: string }) => name).sort(), Object.keys(VIOLATIONS).sort());
  });

  it('allow what the architecture allows', async () => {
    const folder = tree({
      'workflows/a.ts':
        "import type { Leaf } from '../activities/leaf.js';\nimport '../core/leaf.js';\nexport type A = Leaf;\n",
      'sandbox/docker/a.ts': "import '../guest/leaf.js';",
      'activities/a.ts': "import '../store/leaf.js';",
      'workers/a.ts': "import '../activities/leaf.js';\nimport '../sandbox/docker/leaf.js';",
      'workers/reportThread.ts': "import '../report/leaf.js';",
      'core/a.ts': "import 'zod';",
    });
    assert.deepEqual(await checkDependencies(folder), { modules: 17, problems: [] });
  });

  it('are a failure where no module is seen, and where the checker cannot run', async () => {
    const empty = temporaryFolder({ 'tsconfig.json': '{"include":["core"]}', 'core/readme.txt': '' });
    copyFileSync(join(ROOT, '.dependency-cruiser.cjs'), join(empty, '.dependency-cruiser.cjs'));
    const blind = await checkDependencies(empty);
    assert.equal(blind.modules, 0);
    assert.equal(blind.problems.length, 1);
    const bare = temporaryFolder({ 'tsconfig.json': '{"include":["core"]}', 'core/leaf.ts': LEAF });
    assert.match((await checkDependencies(bare)).problems[0]!, /dependency-cruiser failed/);
  });
});

describe('the test command', () => {
  afterEach(removeTemporaryFolders);

  it('adds up passed, failed and skipped over files, and a crash and a file without an end are failures', async () => {
    const tests = temporaryFolder({
      'a/good.test.js':
        "describe('good', () => { it('is', () => {}); it('is too', () => {}); it.skip('not here', () => {}); });",
      'bad.test.js': "it('is wrong', () => { throw new Error('as it should'); });",
      'crash.test.js': "it('starts', () => {}); it('dies', () => process.kill(process.pid, 'SIGKILL'));",
      'helper.js': "throw new Error('is no test');",
    });
    const out = join(tests, 'out');
    const { code, text } = await runNode([
      join(ROOT, 'infra/run-tests.mjs'),
      '--tests',
      tests,
      '--out',
      out,
      '.test.js',
    ]);
    assert.equal(code, 1);
    const lines = text.trimEnd().split('\n');
    assert.equal(lines.at(-1), '3 passed, 2 failed, 1 skipped');
    assert.ok(lines.includes('skipped: good not here'));
    assert.ok(
      lines.some((line) => /^FAILED: .*bad\.test\.js: is wrong: as it should$/.test(line)),
      text,
    );
    assert.ok(
      lines.some((line) => /^FAILED: .*crash\.test\.js: ended early/.test(line)),
      text,
    );
    assert.match(text, /✔ is too/);
  });

  it('fails when it finds no test', async () => {
    const tests = temporaryFolder();
    const { code, text } = await runNode([
      join(ROOT, 'infra/run-tests.mjs'),
      '--tests',
      tests,
      '--out',
      join(tests, 'out'),
      'x',
    ]);
    assert.equal(code, 1);
    assert.match(text, /no test files found\n(.*\n)*0 passed, 1 failed, 0 skipped\n$/);
  });

  it('counts lines of source that no test loads as uncovered', async function () {
    this.timeout(120_000);
    const { keepOurs, lineCoverage } = await import('../../infra/coverage.mjs');
    const folder = temporaryFolder({ 'v8/.keep': '', 'raw/broken.json': '{' });
    const program = `await import(${JSON.stringify(join(ROOT, 'dist/core/errors.js'))})`;
    await runNode(['--input-type=module', '-e', program], { env: { NODE_V8_COVERAGE: join(folder, 'raw') } });
    keepOurs(join(folder, 'raw'), join(folder, 'v8'));
    keepOurs(join(folder, 'never made'), join(folder, 'v8'));
    assert.equal(existsSync(join(folder, 'raw')), false);
    const { percent, covered, lines, table } = await lineCoverage(join(folder, 'v8'), join(folder, 'reports'), false);
    assert.ok(lines > 5000 && covered > 10 && covered < 100 && percent < 2, `${covered} of ${lines}`);
    assert.match(table, /\n {2}ml\/ir +0\.0 % of \d+/);
    const files = Object.keys(JSON.parse(readFileSync(join(folder, 'reports/coverage-summary.json'), 'utf8')));
    assert.ok(files.includes(join(ROOT, 'core/errors.ts')));
    assert.equal(files.includes(join(ROOT, 'dist/core/errors.js')), false);
    assert.equal(
      files.some((file) => file.includes('/test/')),
      false,
    );
  });
});

describe('the lock file', () => {
  type Locked = { version?: string; resolved?: string; link?: boolean; optionalDependencies?: Record<string, string> };
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };

  it('names no place to download from', () => {
    const entries = Object.entries(packages);
    assert.ok(entries.length > 100);
    assert.deepEqual(
      entries.filter(([, { resolved }]) => resolved !== undefined),
      [],
    );
  });

  it('names the binaries of every system, without which npm ci refuses it', () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
      Object.keys(optionalDependencies ?? {}).filter(
        (name) => !packages[`node_modules/${name}`]?.version && !packages[`${path}/node_modules/${name}`]?.version,
      ),
    );
    assert.deepEqual(missing, []);
  });
});

describe('the scripts of package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };

  it('name programs that exist', () => {
    const named = Object.values(scripts).flatMap(
      (script) => script.match(/\b(infra|bin|dist)\/[\w./-]+\.m?js\b/g) ?? [],
    );
    assert.ok(named.length > 8);
    assert.deepEqual(
      named.filter((file) => !existsSync(join(ROOT, file))),
      [],
    );
  });

  it('set up first where they are a new user\u2019s first command', () => {
    for (const name of ['demo', 'test']) assert.match(scripts[name]!, /^node infra\/setup\.mjs && /);
  });
});
