// Every check of the test command must be able to fail, so each one gets a fault.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { checkDependencies } from '../../tools/check-deps.mjs';
import { faultOf } from '../../tools/commits.mjs';
import { lint } from '../../tools/lint.mjs';
import { checkSizes } from '../../tools/sizes.mjs';
import { LANES, mayUseHidden, testFiles } from '../../tools/test-files.mjs';
import { runNode, temporaryFolder, writeInto } from '../infra/support.js';

/** Maps each rule to a file that violates it: [path, text]. Every folder that they import from has a `leaf.ts`. */
const VIOLATIONS: Record<string, [string, string]> = {
  'no-unresolved': ['cli/a.ts', "import './nowhere.js';"],
  'no-cycles': ['store/a.ts', "import './b.js';"],
  'core-is-a-leaf': ['core/a.ts', "import '../store/leaf.js';"],
  'core-is-pure': ['core/b.ts', "import 'node:fs';"],
  'core-only-zod': ['core/c.ts', "import 'pino';"],
  'ml-sees-core': ['ml/hf/a.ts', "import '../../store/leaf.js';"],
  'ml-compiler-is-pure': ['ml/ir/a.ts', "import '../gguf/leaf.js';"],
  'ml-compiler-no-io': ['ml/nn/a.ts', "import 'node:fs';"],
  'ort-only-in-device': ['ml/hf/b.ts', "import 'onnxruntime-node';"],
  'koffi-only-in-device': ['ml/hf/c.ts', "import 'koffi';"],
  'ports-see-core': ['data/a.ts', "import '../store/leaf.js';"],
  'ports-use-little-of-infra': ['sandbox/y.ts', "import '../infra/leaf.js';"],
  'sandbox-backends-are-siblings': ['sandbox/wasm/a.ts', "import '../docker/leaf.js';"],
  'store-hides-its-objects': ['workers/c.ts', "import '../store/layout.js';"],
  's3-only-in-store': ['store/e.ts', "import '@aws-sdk/client-s3';"],
  'dashboard-reads': ['dashboard/a.ts', "import '../workflows/leaf.js';"],
  'pages-run-in-a-browser': ['dashboard/web/a.ts', "import '../leaf.js';"],
  'only-roots-open-the-dashboard': ['sandbox/z.ts', "import '../dashboard/leaf.js';"],
  'inference-sees-chains': ['inference/a.ts', "import '../infra/leaf.js';"],
  'only-the-cli-opens-inference': ['lab/b.ts', "import '../inference/leaf.js';"],
  'tracing-is-optional': ['workers/d.ts', "import '@opentelemetry/api';"],
  'tracing-is-loaded-on-demand': ['workers/e.ts', "import './tracing.js';"],
  'the-product-stands-alone': ['cli/e.ts', "import '../lab/leaf.js';"],
  'tools-run-before-the-build': ['tools/a.ts', "import '../core/leaf.js';"],
  'infra-sees-core': ['infra/a.ts', "import '../store/leaf.js';"],
  'activities-see-chains': ['activities/a.ts', "import '../infra/leaf.js';"],
  'test-source-is-opened': ['sandbox/pool.ts', "import './testSource/leaf.js';"],
  'training-avoids-test-source': ['activities/c.ts', "import '../sandbox/pool.js';"],
  'runs-use-sandbox-port': ['inference/b.ts', "import '../sandbox/docker/leaf.js';"],
  'chains-see-ports': ['chains/a.ts', "import '../activities/leaf.js';"],
  'chains-know-no-temporal': ['chains/b.ts', "import '@temporalio/activity';"],
  'only-hosts-run-activities': ['cli/d.ts', "import '../activities/leaf.js';"],
  'method-sees-core': ['method/a.ts', "import '../store/leaf.js';"],
  'workflows-see-the-method': ['workflows/a.ts', "import '../activities/leaf.js';"],
  'workflows-deterministic': ['workflows/c.ts', "import 'node:crypto';"],
  'cli-starts-workflows-by-type': ['cli/b.ts', "import '../workflows/leaf.js';"],
  'nothing-imports-the-api': ['cli/c.ts', "import '../api/leaf.js';"],
  'nothing-imports-roots': ['store/c.ts', "import '../workers/leaf.js';"],
  'no-test-in-source': ['store/d.ts', "import '../test/leaf.js';"],
};
/** Files with imports that the architecture allows. */
const ALLOWED: Record<string, string> = {
  'workflows/allowed.ts':
    "import type { Leaf } from '../method/leaf.js';\nimport '../core/leaf.js';\nexport type A = Leaf;\n",
  'sandbox/docker/allowed.ts': "import '../guest/leaf.js';\nimport '../../core/leaf.js';",
  'sandbox/docker/openDocker.ts': "import '../testSource/leaf.js';",
  'chains/allowed.ts': "import '../store/leaf.js';",
  'activities/allowed.ts': "import '../chains/leaf.js';",
  'inference/allowed.ts': "import '../chains/leaf.js';",
  'workers/allowed.ts': "import '../activities/leaf.js';\nimport '../sandbox/docker/leaf.js';",
  'workers/deps/deps.ts': "import '../../dashboard/leaf.js';",
  'core/allowed.ts': "import 'zod';",
};
const LEAVES = [
  'api',
  'dashboard',
  'store',
  'ml/engine',
  'ml/gguf',
  'sandbox/docker',
  'sandbox/guest',
  'sandbox/testSource',
  'method',
  'workflows',
  'chains',
  'activities',
  'workers',
  'test',
  'core',
  'inference',
  'infra',
  'lab',
  'tools',
];
const LEAF = 'export const leaf = 1;\nexport type Leaf = number;\n';

describe('the dependency rules', () => {
  let problems: string[] = [];
  let modules = 0;
  before(async () => {
    const folder = temporaryFolder({
      ...Object.fromEntries(LEAVES.map((name) => [`${name}/leaf.ts`, LEAF])),
      ...Object.fromEntries(Object.values(VIOLATIONS)),
      ...ALLOWED,
      'store/b.ts': "import './a.js';",
      'store/layout.ts': LEAF,
      'workers/tracing.ts': LEAF,
    });
    for (const name of ['.dependency-cruiser.cjs', 'tsconfig.json', 'package.json'])
      copyFileSync(join(ROOT, name), join(folder, name));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    ({ problems, modules } = await checkDependencies(folder));
  });

  for (const [rule, [file]] of Object.entries(VIOLATIONS)) {
    it(`reports a violation of ${rule}`, () => {
      assert.ok(
        problems.some((problem) => problem.startsWith(`${rule}: ${file} `)),
        problems.join('\n'),
      );
    });
  }

  it('have one prepared violation each', async () => {
    const { default: config } = await import(join(ROOT, '.dependency-cruiser.cjs'));
    assert.deepEqual(config.forbidden.map(({ name }: { name: string }) => name).sort(), Object.keys(VIOLATIONS).sort());
  });

  it('accept imports that the architecture allows', () => {
    assert.ok(modules > Object.keys({ ...VIOLATIONS, ...ALLOWED }).length, `${modules}`);
    assert.deepEqual(
      problems.filter((problem) => Object.keys(ALLOWED).some((file) => problem.includes(file))),
      [],
    );
  });

  it('fail if the checker sees no module or cannot run', async () => {
    const empty = temporaryFolder({ 'tsconfig.json': '{"include":["core"]}', 'core/readme.txt': '' });
    copyFileSync(join(ROOT, '.dependency-cruiser.cjs'), join(empty, '.dependency-cruiser.cjs'));
    const bare = temporaryFolder({ 'tsconfig.json': '{"include":["core"]}', 'core/leaf.ts': LEAF });
    const [blind, broken] = await Promise.all([empty, bare].map((folder) => checkDependencies(folder)));
    assert.equal(blind!.modules, 0);
    assert.equal(blind!.problems.length, 1);
    assert.match(broken!.problems[0]!, /dependency-cruiser failed/);
  });
});

describe('the linter', () => {
  it('reports a fault in every language that it checks', () => {
    const files = ['core/a.ts', 'core/b.mts', 'core/c.js', 'core/d.cjs', 'core/e.py', 'sandbox/guest/f.py'];
    const fault = (file: string) => (file.endsWith('.py') ? 'if x == None:\n    pass\n' : 'export   const a = 1;\n');
    const folder = temporaryFolder({
      'tsconfig.json': '{"include":["core","sandbox"]}',
      ...Object.fromEntries(files.map((file) => [file, fault(file)])),
    });
    copyFileSync(join(ROOT, 'biome.json'), join(folder, 'biome.json'));
    const found = lint(folder).join('\n');
    for (const file of files) assert.ok(found.includes(file), `${file} is not in: ${found}`);
  });
});

describe('a repository with a release', () => {
  /** A release 1.0.0 with a limit of 3 lines for `core`, then a change with this subject. */
  function changed(subject: string, core: number, files: Record<string, string> = {}): string {
    const sizes = (limit: number, release: number): string =>
      JSON.stringify({ core: limit, tools: 9, release: { commit: 'none', limits: { core: release, tools: 9 } } });
    const folder = temporaryFolder({
      'core/a.js': 'a();\nb();\nc();\n',
      'tsconfig.json': '{"include":["core"]}',
      'tools/sizes.json': sizes(3, 2),
      'package.json': '{"version":"1.1.0"}',
      'CHANGELOG.md': '## [1.1.0]\n\n## [1.0.0]\n\n- Size: core may have 9 lines, because a user of 1.0 asked for c.\n',
    });
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: folder });
    const commit = (text: string) => git('commit', '--quiet', '--allow-empty', '-m', text);
    git('init', '--quiet');
    git('add', '.');
    commit('Everything before the release');
    git('tag', 'v1.0.0');
    for (const [name, text] of Object.entries({ 'tools/sizes.json': sizes(core, 3), ...files }))
      writeInto(folder, name, text);
    git('add', '.');
    commit(subject);
    return folder;
  }
  const change = 'core: drop c';

  it('refuses a folder above its limit', () => {
    const { report, problems } = checkSizes(changed(change, 2));
    assert.deepEqual(report, ['core              3 of 2']);
    assert.deepEqual(problems, ['core/ has 3 lines, 1 more than its limit in tools/sizes.json']);
  });

  it("refuses a limit above the release's, unless the changelog names who asked for it", () => {
    assert.deepEqual(checkSizes(changed(change, 3)).problems, []);
    const [problem, ...others] = checkSizes(changed(change, 4)).problems;
    assert.match(problem!, /^tools\/sizes\.json: core has 4, and 3 at the last release: .*CHANGELOG\.md/);
    assert.deepEqual(others, []);
    const line = '- Size: core may have 1,004 lines, because a user of Windows asked for paths with spaces.\n';
    const said = { 'CHANGELOG.md': `## [1.1.0]\n\n${line}\n## [1.0.0]\n` };
    assert.deepEqual(checkSizes(changed(change, 1004, said)).problems, []);
    assert.equal(checkSizes(changed(change, 1005, said)).problems.length, 1);
  });

  it("refuses release limits that differ from those of the release's tag", () => {
    const forged = JSON.stringify({ core: 5, tools: 9, release: { commit: 'none', limits: { core: 5, tools: 9 } } });
    assert.deepEqual(checkSizes(changed(change, 5, { 'tools/sizes.json': forged })).problems, [
      'tools/sizes.json: release.limits differs from the limits of v1.0.0: copy them',
    ]);
  });

  it('refuses subjects without an imperative verb, but only since the release', () => {
    const subjects = lint(changed('core: drops c', 3)).filter((line) => line.startsWith('commit '));
    assert.equal(subjects.length, 1);
    assert.match(subjects[0]!, /^commit \w+: 'drops' is not an imperative verb, .*: core: drops c$/);
  });
});

describe('the subject of a commit', () => {
  it('has an area and an imperative verb', () => {
    for (const subject of ['core: drop it', 'ml/hf, cli: process a', 'warm start: need less', 'check:cuda: embed b'])
      assert.equal(faultOf(subject), undefined, subject);
    const long = `core: drop ${'x'.repeat(62)}`;
    const bad = ['drop it', 'Core: drop it', 'core: Drop it', 'core: dropped it', 'core: dropping it', 'core: a value'];
    for (const subject of [...bad, 'core:', long]) assert.equal(typeof faultOf(subject), 'string', subject);
  });
});

describe('the test command', () => {
  const runTests = (tests: string, ...args: string[]) =>
    runNode([join(ROOT, 'tools/run-tests.mjs'), '--tests', tests, '--out', join(tests, 'out'), ...args]);

  it('counts passed, failed and skipped tests, and names files that crash or hang', async () => {
    const tests = temporaryFolder({
      'a/good.test.js':
        "describe('good', () => { it('is', () => {}); it('is too', () => {}); it.skip('not here', () => {}); });",
      'b/bad.test.js': "it('is wrong', () => { throw new Error('as it should'); });",
      'c/crash.test.js': "it('starts', () => {}); it('dies', () => process.kill(process.pid, 'SIGKILL'));",
      'd/hang.test.js': "it('hangs', () => { for (;;); });",
      'd/quick.test.js': "it('never starts', () => {});",
      'helper.js': "throw new Error('is no test');",
    });
    const { code, text } = await runTests(tests, '--file-limit', '20000', '.test.js');
    assert.equal(code, 1);
    const lines = text.trimEnd().split('\n');
    assert.equal(lines.at(-1), '3 passed, 3 failed, 1 skipped');
    assert.ok(lines.includes('skipped: good not here'));
    for (const failure of [
      /^FAILED: .*bad\.test\.js: is wrong: as it should$/m,
      /^FAILED: .*crash\.test\.js: ended early/m,
      /^FAILED: .*hang\.test\.js: killed after 20 s$/m,
    ])
      assert.match(text, failure);
    assert.match(text, /✔ is too/);
  });

  it('selects the tests of lanes, or those whose paths contain a word', () => {
    const tests = temporaryFolder({
      'core/a.test.js': "import './b.js';",
      'core/b.js': "export * from '../lab/chromium.js'; import('./b.js');",
      'lab/chromium.js': '',
      'core/d.system.test.js': '',
      'lab/c.test.js': '',
    });
    const select = (parts: string[], ...lanes: string[]) =>
      testFiles(tests, parts, lanes)
        .map((file) => relative(tests, file))
        .sort();
    assert.deepEqual(select([], 'fast'), ['core/a.test.js']);
    assert.deepEqual(
      ['a.test.js', 'd.system.test.js'].map((name) => mayUseHidden(join(tests, 'core', name))),
      [true, false],
    );
    assert.deepEqual(select([], 'system', 'lab'), ['core/d.system.test.js', 'lab/c.test.js']);
    assert.deepEqual(select(['/lab/'], 'fast'), ['lab/c.test.js']);
    assert.deepEqual(select([basename(tests)], 'fast'), select([], ...LANES));
    assert.deepEqual(select([dirname(tests)], 'fast'), []);
  });

  it('fails when it finds no test for an argument', async () => {
    const { code, text } = await runTests(temporaryFolder(), 'x');
    assert.equal(code, 1);
    assert.match(text, /FAILED: no test file for 'x'\n(.*\n)*0 passed, 1 failed, 0 skipped\n$/);
  });

  it('counts lines of source that no test loads as uncovered', async () => {
    const { coverageReport, keepOurs } = await import('../../tools/coverage.mjs');
    const folder = temporaryFolder({ 'v8/.keep': '', 'raw/broken.json': '{' });
    const program = `await import(${JSON.stringify(join(ROOT, 'dist/core/base/errors.js'))})`;
    await runNode(['--input-type=module', '-e', program], { env: { NODE_V8_COVERAGE: join(folder, 'raw') } });
    keepOurs(join(folder, 'raw'), join(folder, 'v8'));
    keepOurs(join(folder, 'never made'), join(folder, 'v8'));
    assert.equal(existsSync(join(folder, 'raw')), false);
    const { code, text } = await runNode(coverageReport(join(folder, 'v8'), join(folder, 'reports')), {
      cwd: ROOT,
    });
    assert.equal(code, 1);
    assert.match(text, /Coverage for lines \(0\.\d+%\) does not meet global threshold \(85%\)/);
    const summary = JSON.parse(readFileSync(join(folder, 'reports/coverage-summary.json'), 'utf8')) as object;
    const files = Object.keys(summary);
    assert.ok(files.includes(join(ROOT, 'core/base/errors.ts')));
    assert.equal(files.includes(join(ROOT, 'dist/core/base/errors.js')), false);
    assert.equal(
      files.some((file) => /\/(lab|test)\//.test(file.slice(ROOT.length))),
      false,
    );
  });
});

describe('package-lock.json', () => {
  type Locked = { version?: string; resolved?: string; link?: boolean; optionalDependencies?: Record<string, string> };
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Locked>;
  };

  it('contains no address of a registry', () => {
    const entries = Object.entries(packages);
    assert.ok(entries.length > 100);
    assert.deepEqual(
      entries.filter(([, { resolved }]) => resolved !== undefined),
      [],
    );
  });

  it('lists the native packages of every system, which npm ci requires', () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
      Object.keys(optionalDependencies ?? {}).filter(
        (name) => !packages[`node_modules/${name}`]?.version && !packages[`${path}/node_modules/${name}`]?.version,
      ),
    );
    assert.deepEqual(missing, []);
  });
});

describe('scripts in package.json', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };

  it('run programs that exist', () => {
    const named = Object.values(scripts).flatMap(
      (script) => script.match(/\b(tools|bin|dist)\/[\w./-]+\.m?js\b/g) ?? [],
    );
    assert.ok(named.length > 8);
    assert.deepEqual(
      named.filter((file) => !existsSync(join(ROOT, file))),
      [],
    );
  });

  it('run set-up first in the commands of a new user', () => {
    for (const name of ['demo', 'test']) assert.match(scripts[name]!, /^node tools\/setup\.mjs && /);
  });
});
