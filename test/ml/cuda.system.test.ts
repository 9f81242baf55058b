// `npm run check:cuda`: what the graphs ask of CUDA, counted without a GPU, and the runtime that counts. The first run fetches 260 MB,
// with CI set only.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { PROVIDER } from '../../infra/cudaPackages.js';
import { ROOT } from '../../infra/root.mjs';
import type { Result } from '../../lab/fakeCuda/checks.js';
import type { Counts } from '../../lab/fakeCuda/counts.js';
import { putFakeCuda } from '../../lab/fakeCuda/provide.js';
import { cached } from '../../lab/wheels.js';
import { temporaryFolder } from '../infra/support.js';

const GIGABYTE = 2 ** 30;
const [TO_DEVICE, TO_HOST, ANY] = [1, 2, 4]; // the directions of a copy

describe('CUDA without a GPU', () => {
  before(function () {
    const programs = [
      ['gcc', '--version'],
      ['python3', '-m', 'pip', '--version'],
    ] as const;
    const missing = programs.find(([program, ...args]) => spawnSync(program, args).status !== 0);
    const why = missing
      ? `${missing[0]} is missing`
      : existsSync(cached(PROVIDER))
        ? undefined
        : 'npm run check:cuda has not fetched the CUDA provider yet';
    if (why === undefined || process.env.CI) return;
    console.log(`      skipped: ${why}`);
    this.skip();
  });

  function check(...args: string[]): { status: number | null; results: Result[] } {
    const program = join(ROOT, 'dist/lab/fakeCuda/main.js');
    const { status, stdout } = spawnSync(process.execPath, [program, '--json', ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 2],
    });
    assert.notEqual(stdout, '', `check:cuda printed no results (status ${status}): see its lines above`);
    return { status, results: JSON.parse(stdout) };
  }

  it('meets all limits of `npm run check:cuda`', () => {
    const { status, results } = check();
    assert.deepEqual(
      results.filter(({ holds }) => !holds),
      [],
    );
    assert.equal(status, 0);
    const counted = (check: string, what: string): unknown =>
      results.find((result) => result.check.startsWith(check) && result.what === what)!.counted;
    const missing = ['GroupQueryAttention(float32, int32) → float32'];
    assert.deepEqual(counted('operations', 'without a CUDA kernel'), missing); // so the test notices a missing kernel
    assert.equal(counted('a decoding step', 'copies to the host'), 2, 'the tokens, and the new keys and values');
    assert.ok((counted('a recorded decoding step', 'launches of a step') as number) > 200, 'a graph was recorded');
    const launches = counted('a PPO gradient', 'launches') as number;
    assert.ok(launches > 1000 && launches <= 11_000, `${launches} launches`);
    assert.equal(counted('a PPO gradient', 'bytes left allocated'), 0);
  });

  it('fails if a decoding step takes more launches than allowed', () => {
    const { status, results } = check('--only', 'decoding step', '--limit', 'launches=300');
    const [launches, ...others] = results;
    assert.equal(status, 1);
    assert.deepEqual([launches!.what, launches!.limit, launches!.holds], ['launches', 300, false]);
    assert.ok(others.every(({ holds }) => holds));
  });

  it('refuses a limit without a number in one line', () => {
    const program = join(ROOT, 'dist/lab/fakeCuda/main.js');
    const { status, stderr } = spawnSync(process.execPath, [program, '--limit', 'launches'], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [2, 'check:cuda: --limit must be WHAT=N, is launches\n']);
  });

  describe('the runtime', () => {
    let folder: string;
    let call: (name: string, result: string, types: string[], ...args: unknown[]) => unknown;
    const counts = (): Counts => JSON.parse(call('fakeCudaReport', 'const char *', []) as string);
    const allocate = (size: number): unknown => {
      const start = [null];
      assert.equal(call('cudaMalloc', 'int', ['_Out_ void **', 'size_t'], start, size), 0);
      return start[0];
    };
    const copy = (to: unknown, from: unknown, size: number, kind: number): unknown =>
      call('cudaMemcpyAsync', 'int', ['void *', 'void *', 'size_t', 'int', 'void *'], to, from, size, kind, null);
    const free = (start: unknown): unknown => call('cudaFree', 'int', ['void *'], start);

    before(async () => {
      folder = temporaryFolder();
      await putFakeCuda(folder, () => {});
      const library = koffi.load(join(folder, 'libcudart.so.13'));
      call = (name, result, types, ...args) => library.func(name, result, types)(...args);
    });
    beforeEach(() => call('fakeCudaReset', 'void', []));

    it('copies, and counts copies from the host separately while a graph is recorded', () => {
      const device = allocate(1024);
      const [sent, received] = [Buffer.alloc(1024, 7), Buffer.alloc(1024)];
      copy(device, sent, 1024, TO_DEVICE);
      call('cudaStreamBeginCapture', 'int', ['void *', 'int'], null, 0);
      copy(device, sent, 100, ANY);
      const more = allocate(1);
      call('cudaStreamEndCapture', 'int', ['void *', '_Out_ void **'], null, [null]);
      copy(received, device, 1024, TO_HOST);
      assert.deepEqual(received, sent);
      const { direct, captured, graphs } = counts();
      assert.deepEqual([direct.copiesToDevice, direct.bytesToDevice], [1, 1024]);
      assert.deepEqual([direct.copiesToHost, direct.bytesToHost], [1, 1024]);
      assert.deepEqual([captured.copiesToDevice, captured.bytesToDevice, captured.allocations], [1, 100, 1]);
      assert.equal(graphs, 1);
      free(device);
      free(more);
    });

    it('knows how much memory is allocated, the peak, and when the memory is full', () => {
      const [first, second] = [allocate(50 * GIGABYTE), allocate(GIGABYTE)];
      assert.equal(free(second), 0);
      const outOfMemory = call('cudaMalloc', 'int', ['_Out_ void **', 'size_t'], [null], 31 * GIGABYTE);
      assert.equal(outOfMemory, 2);
      assert.equal(counts().memory, 50 * GIGABYTE);
      assert.equal(counts().peakMemory, 51 * GIGABYTE);
      assert.equal(free(first), 0);
      assert.equal(free(first), 1, 'freed twice');
      assert.equal(counts().memory, 0);
    });
  });
});
