// Set-up on a toy checkout: the real script, compiler and lock, with a fake npm.
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { codeVersion } from '../../infra/codeVersion.mjs';
import { ROOT } from '../../infra/root.mjs';
import { program, runNode, temporaryFolder, writeInto } from '../infra/support.js';

const LOCK = JSON.stringify({
  packages: {
    '': { version: '1.0.0' },
    'node_modules/a': { version: '2.0.0' },
    'node_modules/b': { version: '1.0.0', optional: true },
  },
});
const TSCONFIG = JSON.stringify({
  compilerOptions: { rootDir: '.', outDir: 'dist', module: 'NodeNext', target: 'ES2022', types: [], lib: ['ES5'] },
  include: ['core'],
});

/** A fake npm. `npm ci` records its calls and writes the same files as the real one; `npm run build` does the real work. */
const FAKE_NPM = `
[ "$1" = run ] && { "$NODE" "$TYPESCRIPT/bin/tsc" -p tsconfig.json && exec "$NODE" tools/build-stamp.mjs; exit 1; }
echo "$@ ONNX=$ONNXRUNTIME_NODE_INSTALL" >> npm-calls
[ -n "$FAKE_NPM_FAILS" ] && { echo "npm error network" >&2; exit 7; }
sleep 0.3
mkdir -p node_modules && ln -s "$TYPESCRIPT" node_modules/typescript
printf '{"packages":{"node_modules/a":{"version":"2.0.0"}}}' > node_modules/.package-lock.json`;

describe('the set-up of a checkout', () => {
  const checkout = () => {
    const folder = temporaryFolder({
      'package.json': '{"type":"module","version":"1.2.3"}',
      'package-lock.json': LOCK,
      'tsconfig.json': TSCONFIG,
      'core/a.ts': 'export const a: number = 1;\n',
    });
    for (const name of ['infra', 'tools'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter: (file) => !/\.ts$/.test(file) });
    cpSync(join(ROOT, 'bin'), join(folder, 'bin'), { recursive: true });
    program(folder, 'programs/npm', FAKE_NPM);
    program(folder, 'programs/temporal', '');
    const env = {
      PATH: `${join(folder, 'programs')}:/usr/bin:/bin`,
      NODE: process.execPath,
      TYPESCRIPT: join(ROOT, 'node_modules/typescript'),
      TEMPORAL_CLI: undefined,
      TEMPORAL_ADDRESS: undefined,
      ONNXRUNTIME_NODE_INSTALL: undefined,
      FAKE_NPM_FAILS: undefined,
    };
    const setup = (extra: Record<string, string> = {}) =>
      runNode([join(folder, 'tools/setup.mjs')], { cwd: '/', env: { ...env, ...extra } });
    const npmCalls = () =>
      existsSync(join(folder, 'npm-calls')) ? readFileSync(join(folder, 'npm-calls'), 'utf8') : '';
    return { folder, setup, npmCalls };
  };

  it('installs packages and builds once, and does nothing the second time', async () => {
    const { folder, setup, npmCalls } = checkout();
    const first = await setup();
    assert.equal(first.code, 0, first.text);
    assert.match(first.text, /setup: installing packages.*\nsetup: building \(tsc\)\nsetup: ready/);
    assert.equal(npmCalls(), 'ci --include=dev --ignore-scripts --no-audit --no-fund --loglevel=error ONNX=skip\n');
    assert.equal(existsSync(join(folder, 'dist/core/a.js')), true);
    const second = await setup();
    assert.match(second.text, /^setup: ready \(\d+\.\d s\)\n$/);
    assert.deepEqual(readdirSync(join(folder, '.cache')), []);
  });

  it('works once if two processes start at the same time', async () => {
    const { setup, npmCalls } = checkout();
    const [one, two] = await Promise.all([setup(), setup()]);
    assert.deepEqual([one!.code, two!.code], [0, 0], one!.text + two!.text);
    assert.equal(npmCalls().trim().split('\n').length, 1);
    assert.match(one!.text + two!.text, /another set-up \(process \d+\) is working on this checkout: waiting for it/);
  });

  it('rebuilds after a source changed or dist was removed, and deletes output without a source', async () => {
    const { folder, setup } = checkout();
    writeInto(folder, 'core/b.mts', 'export const b = 2;\n');
    await setup();
    assert.equal(existsSync(join(folder, 'dist/core/b.mjs')), true);
    unlinkSync(join(folder, 'core/b.mts'));
    assert.match((await setup()).text, /building/);
    assert.equal(existsSync(join(folder, 'dist/core/b.mjs')), false);
    rmSync(join(folder, 'dist'), { recursive: true });
    assert.match((await setup()).text, /building/);
    assert.equal(existsSync(join(folder, 'dist/core/a.js')), true);
  });

  it('reinstalls after the lock file changed or an installation was interrupted', async () => {
    const { folder, setup, npmCalls } = checkout();
    await setup();
    unlinkSync(join(folder, 'node_modules/typescript'));
    rmSync(join(folder, 'node_modules/.package-lock.json'));
    await setup();
    assert.equal(npmCalls().trim().split('\n').length, 2);
    unlinkSync(join(folder, 'node_modules/typescript'));
    writeInto(folder, 'package-lock.json', LOCK.replace('2.0.0', '3.0.0'));
    await setup();
    assert.equal(npmCalls().trim().split('\n').length, 3);
  });

  it('fails with one line if npm or the build fails, and continues from there the next time', async () => {
    const { folder, setup } = checkout();
    const offline = await setup({ FAKE_NPM_FAILS: '1' });
    assert.equal(offline.code, 1);
    assert.match(offline.text, /npm error network\nsetup: npm ci failed \(exit 7\): see its lines above; .*\n$/);
    writeInto(folder, 'core/a.ts', 'export const a: number = "one";\n');
    const broken = await setup();
    assert.equal(broken.code, 1);
    assert.match(broken.text, /core\/a\.ts.*TS2322.*\nsetup: the build failed: see the lines above\n$/s);
    writeInto(folder, 'core/a.ts', 'export const a = 1;\n');
    assert.equal((await setup()).code, 0);
  });

  it('records the version and the git commit, or a digest of the sources outside a repository', async () => {
    const { folder, setup } = checkout();
    await setup();
    const unknown = codeVersion(folder);
    assert.match(unknown, /^1\.2\.3\+sources\.[0-9a-f]{12}$/);
    writeInto(folder, 'core/a.ts', 'export const a = 2;\n');
    await setup();
    assert.notEqual(codeVersion(folder), unknown);
    mkdirSync(join(folder, '.git'));
    program(folder, 'programs/git', 'echo 1d909da12345-dirty');
    await setup();
    assert.equal(codeVersion(folder), '1.2.3+1d909da12345-dirty');
  });

  it('rejects an old Node with one line', async () => {
    const { folder, setup } = checkout();
    const shim = writeInto(folder, 'old.cjs', "Object.defineProperty(process.versions, 'node', { value: '18.20.0' });");
    const old = await setup({ NODE_OPTIONS: `--require ${shim}` });
    assert.equal(old.code, 1);
    assert.match(
      old.text,
      /^setup: Node 20\.19 or newer 20\.x, 22\.12 or newer is needed, this is v\S+: install one of these\n$/,
    );
  });

  it('names the ways to install a Temporal CLI, and needs none with TEMPORAL_ADDRESS', async () => {
    const { folder, setup } = checkout();
    await setup();
    unlinkSync(join(folder, 'programs/temporal'));
    const alone = { PATH: join(folder, 'programs'), XDG_CACHE_HOME: join(folder, 'cache') };
    symlinkSync(join(ROOT, 'node_modules/@temporalio'), join(folder, 'node_modules/@temporalio'));
    const proxy = { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: '' };
    const none = await setup({ ...alone, ...proxy });
    assert.equal(none.code, 1, none.text);
    assert.match(none.text, /setup: no Temporal CLI: .*TEMPORAL_ADDRESS\n$/);
    assert.equal((await setup({ ...alone, TEMPORAL_ADDRESS: '127.0.0.1:1' })).code, 0);
  });

  it('installs a command that runs the build, or reports that there is no build', async () => {
    const { folder } = checkout();
    const command = join(folder, 'bin/gauntlet.mjs');
    const unbuilt = await runNode([command, 'train']);
    assert.deepEqual(unbuilt, {
      code: 1,
      text: 'gauntlet is not built yet: run `node tools/setup.mjs` in the checkout first\n',
    });
    mkdirSync(join(folder, 'dist/cli'), { recursive: true });
    const main = "export const main = async (args) => { console.log('arguments', args.join(' ')); return 3; };";
    writeInto(folder, 'dist/cli/main.js', main);
    assert.deepEqual(await runNode([command, 'train', '--watch']), { code: 3, text: 'arguments train --watch\n' });
  });
});
