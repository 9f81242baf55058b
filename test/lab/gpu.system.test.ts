// Runs `npm run bench -- gpu` on a CUDA runtime that computes nothing. Its checks must fail; everything else must work.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROVIDER } from '../../infra/cudaPackages.js';
import { ROOT } from '../../infra/root.mjs';
import type { GpuResults } from '../../lab/bench/gpu/results.js';
import { putFakeCuda } from '../../lab/fakeCuda/provide.js';
import { cached } from '../../lab/wheels.js';
import { temporaryFolder } from '../infra/support.js';

const NVIDIA_SMI = `#!/bin/sh
case "$1" in
  *name*) echo "a card that computes nothing, 81920, 1.0, 9.0" ;;
  *memory*) echo 8000 ;;
esac
`;

describe('npm run bench -- gpu', () => {
  let folder: string;
  before(async function () {
    const isMissing = spawnSync('gcc', ['--version']).status !== 0 || !existsSync(cached(PROVIDER));
    if (isMissing && !process.env.CI) {
      console.log('      skipped: gcc is missing, or npm run check:cuda has not fetched the CUDA provider yet');
      this.skip();
    }
    folder = temporaryFolder();
    for (const name of ['cuda', 'bin']) mkdirSync(join(folder, name));
    await putFakeCuda(join(folder, 'cuda'), () => {}, false);
    writeFileSync(join(folder, 'bin', 'nvidia-smi'), NVIDIA_SMI);
    chmodSync(join(folder, 'bin', 'nvidia-smi'), 0o755);
  });

  function bench(...args: string[]) {
    const out = join(folder, 'gpu.json');
    const program = join(ROOT, 'dist/lab/bench/main.js');
    const path = `${folder}/bin:${process.env.PATH}`;
    const env = { ...process.env, GAUNTLET_BENCH_VENV: '/nowhere', LD_LIBRARY_PATH: join(folder, 'cuda'), PATH: path };
    const command = [program, 'gpu', '--small', '--commit', 'test', '--out', out, ...args];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', env });
    return { status, stdout, stderr, results: JSON.parse(readFileSync(out, 'utf8')) as GpuResults };
  }

  it('reports wrong results of a card, measures, and continues an earlier run', () => {
    const first = bench();
    assert.equal(first.status, 1, first.stderr);
    const { identity, sections, targets } = first.results;
    assert.equal(identity.card, 'a card that computes nothing, 80.0 GiB, driver 1.0');
    const states = Object.entries(sections).map(([name, { status }]) => `${name} ${status}`);
    const others = ['torch skipped', 'profile done'];
    assert.deepEqual(states, ['check done', 'step done', 'train done', 'generate done', ...others], first.stderr);
    assert.equal(sections.torch!.reason, '/nowhere/bin/python does not start');
    const { check, step, train, generate, profile } = sections;
    assert.ok(check!.measurements.length >= 7 && check!.measurements.every(({ holds }) => holds === false));
    assert.match(String(check!.measurements[0]!.fault), /^a matrix product differs from the CPU/);
    for (const { milliseconds, tokensPerSecond, usedGigabytes } of step!.measurements)
      assert.ok(Number(milliseconds) > 0 && Number(tokensPerSecond) > 0 && usedGigabytes === 8.389);
    for (const { case: name, seconds } of [...train!.measurements, ...generate!.measurements])
      assert.ok(Number(seconds) > 0, name);
    assert.equal(train!.measurements.length, 4, 'gradients and scores in f32 and f16');
    assert.match(String(profile!.measurements[0]!.Gemm), /^[\d.e-]+ \(\d+\)$/);
    assert.deepEqual([...new Set(targets.map(({ met }) => met))], ['NO', 'not measured']);
    assert.match(first.stdout, /card a card that computes nothing.*commit test, onnxruntime 1\./);

    const second = bench('--only', 'check,step');
    assert.equal(second.status, 1);
    assert.match(second.stderr, /check: done before.*\n.*step: done before/);
    assert.deepEqual(second.results.sections, sections);

    const third = bench('--only', 'step', '--force', '--seconds', '1');
    assert.match(third.stderr, /step: timeout: no time is left/);
    assert.deepEqual([third.status, third.results.sections.step!.status], [1, 'timeout']);
    assert.deepEqual(third.results.sections.check, check);
  });
});
