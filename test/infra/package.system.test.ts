// Packs the built program as npm would publish it: its files are complete, contain nothing else, and run elsewhere.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { runNode, temporaryFolder } from './support.js';

const MEGABYTE = 2 ** 20;
const FOLDERS = ['api', 'activities', 'cli', 'core', 'dashboard', 'data', 'ml', 'sandbox', 'store'];
const PRODUCT = [...FOLDERS, 'workers', 'workflows', 'infra/images'];
const COMPILED = /\.(m?ts|tsx|css|html)$/;

interface Packed {
  filename: string;
  size: number; // in bytes
  files: { path: string }[];
}

/** The files in a folder of the checkout, as paths from the root. */
const filesIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true })
    .map((name) => `${folder}/${name}`)
    .filter((path) => statSync(join(ROOT, path)).isFile());

describe('the npm package', () => {
  let folder: string;
  let packed: Packed;
  let paths: string[];

  before(() => {
    folder = temporaryFolder();
    // without scripts, because `prepack` would build again
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const output = execFileSync('npm', args, {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    [packed] = JSON.parse(output) as [Packed];
    paths = packed.files.map(({ path }) => path);
  });

  it('contains every file that the program reads, and every built module', () => {
    const sources = PRODUCT.flatMap(filesIn);
    const data = sources.filter((path) => !COMPILED.test(path) && !/tsconfig\.json$|__pycache__/.test(path));
    assert.ok(data.length > 20, `${data.length} files`);
    const modules = sources
      .filter((path) => /\.m?ts$/.test(path) && !/^dashboard\/web\/|\.d\.ts$/.test(path))
      .map((path) => `dist/${path.replace(/ts$/, 'js')}`);
    const pages = ['index.html', 'main.css', 'main.js'].map((name) => `dist/dashboard/web/${name}`);
    const entries = ['index', 'engine', 'sandbox', 'store'].map((name) => `dist/api/${name}.d.ts`);
    for (const path of [
      ...data,
      ...modules,
      ...pages,
      ...entries,
      'dist/.version',
      'bin/gauntlet.mjs',
      'infra/gauntlet.service',
      'LICENSE',
    ])
      assert.ok(paths.includes(path), `${path} is missing`);
  });

  it('contains no tests, benchmarks, source maps, caches or settings of this machine, and stays small', () => {
    const unwanted =
      /(^|\/)(test|lab|tools|node_modules|\.cache|\.gauntlet|\.git|\.npmrc|\.env[^/]*|__pycache__)(\/|$)|\.map$|\.stamp$/;
    assert.deepEqual(
      paths.filter((path) => unwanted.test(path)),
      [],
    );
    const folders = new Set(paths.map((path) => path.split('/')[0]!));
    assert.deepEqual([...folders].sort(), [
      'LICENSE',
      'README.md',
      'bin',
      'data',
      'dist',
      'infra',
      'package.json',
      'sandbox',
    ]);
    assert.ok(packed.size < 8 * MEGABYTE, `${packed.size} bytes`);
  });

  it('runs outside a checkout', async () => {
    execFileSync('tar', ['xf', join(folder, packed.filename), '-C', folder]);
    const root = join(folder, 'package');
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    const env = { TEMPORAL_ADDRESS: undefined, HOME: folder, XDG_CACHE_HOME: undefined, GAUNTLET_STORE: undefined };
    const gauntlet = (...args: string[]) => runNode([join(root, 'bin/gauntlet.mjs'), ...args], { cwd: folder, env });
    const version = await gauntlet('--version');
    assert.match(version.text, /^\d+\.\d+\.\d+\n$/);
    const { text } = await gauntlet('doctor', '--json');
    const { findings } = JSON.parse(text.slice(text.indexOf('{'))) as {
      findings: { name: string; ok: boolean; detail: string }[];
    };
    for (const name of ['node', 'store', 'onnx runtime', 'tiny model', 'sandbox wasm'])
      assert.ok(findings.find((finding) => finding.name === name)?.ok, text);
  });
});
