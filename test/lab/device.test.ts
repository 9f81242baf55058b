// `npm run bench -- device`, with the CPU in the place of a device.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../infra/root.mjs';
import { type DeviceFigures, deviceTable } from '../../lab/bench/device.js';

const bench = (...args: string[]) =>
  promisify(execFile)(process.execPath, ['dist/lab/bench/main.js', 'device', ...args], { cwd: ROOT });

describe('the benchmark of a device', function () {
  this.timeout(120_000);

  it('has a row with seconds, ratio and difference for each kind of work', () => {
    const figures = [{ name: 'scoring', seconds: { cpu: 3, device: 1.5 }, difference: '1.0e-7' }];
    assert.equal(deviceTable('cuda', 16, figures).split('\n').at(-1), '| scoring | 3.00 | 1.50 (2.00×) | 1.0e-7 |');
  });

  it('measures the same results on both sides, here both the CPU', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gauntlet-device-'));
    try {
      const out = join(folder, 'results.json');
      const { stdout } = await bench('--name', 'cpu', '--shape', 'tiny-2l', '--rounds', '1', '--out', out);
      assert.equal(stdout.trim().split('\n').length, 6);
      const { figures } = JSON.parse(readFileSync(out, 'utf8')) as { figures: DeviceFigures[] };
      assert.deepEqual(
        figures.map(({ difference }) => difference),
        ['0.0e+0', '0.0e+0', '0 of 512 tokens', '0 of 4096 tokens'],
      );
      for (const { seconds } of figures) assert.ok(seconds.cpu > 0 && seconds.device > 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('refuses an unknown device and shape in one line', async () => {
    const refused = (args: string[], line: RegExp) => assert.rejects(bench(...args), { code: 2, stderr: line });
    await refused(['--name', 'tpu'], /^bench: --name must be cuda or cpu\n$/);
    await refused(['--name', 'cuda', '--shape', 'huge'], /^bench: --shape must be one of embedded, tiny, /);
  });
});
