// The benchmark of watching a run: its ratio, and one pair of tiny runs of the command line.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../infra/root.mjs';
import { cpuSeconds } from '../../lab/bench/cpuTime.js';
import { type Pair, ratioOf, sharesOf } from '../../lab/bench/overhead/main.js';
import { chromiumPath, NO_CHROMIUM } from '../../lab/chromium.js';
import { removeTemporaryFolders, temporaryFolder } from '../infra/support.js';
import { needTemporal } from '../workflows/server.js';

const pair = (plain: number, other: number): Pair => ({
  plain: { seconds: plain, cpu: { run: plain, dashboard: 0, browser: 0 } },
  other: { seconds: other, cpu: { run: other, dashboard: other / 10, browser: other / 5 } },
});

describe('the overhead benchmark', () => {
  after(removeTemporaryFolders);

  it('reports the geometric mean of the ratios of pairs, with an interval', () => {
    const same = ratioOf([pair(10, 11), pair(20, 22)]);
    for (const figure of [same.value, same.low, same.high]) assert.ok(Math.abs(figure - 1.1) < 1e-9, `${figure}`);
    const { value, low, high } = ratioOf([pair(1, 2), pair(2, 1), pair(1, 1)]);
    assert.ok(Math.abs(value - 1) < 1e-9 && low < 1 && high > 1, `${low} ${value} ${high}`);
    assert.ok(Number.isNaN(ratioOf([pair(1, 2)]).low));
  });

  it('reports the CPU time of watchers as shares of all cores', () => {
    const { dashboard, browser, run } = sharesOf([pair(10, 12), pair(20, 18)], 2);
    assert.deepEqual(
      [dashboard, browser, run].map((share) => share.toFixed(3)),
      ['0.050', '0.100', '1.000'],
    );
  });

  it('counts the CPU time of a process and of its descendants', () => {
    const times = (pid: number, parent: number, seconds: number) => ({ pid, parent, name: 'x', seconds });
    assert.equal(cpuSeconds(1, [times(1, 0, 1), times(2, 1, 2), times(3, 2, 4), times(4, 0, 8)]), 7);
    assert.ok(cpuSeconds(process.pid) > 0);
  });

  it(`watches one of two tiny runs${chromiumPath === undefined ? ` (skipped: ${NO_CHROMIUM})` : ''}`, async function () {
    this.timeout(600_000);
    needTemporal(this);
    if (chromiumPath === undefined) this.skip();
    const out = join(temporaryFolder(), 'overhead.json');
    const small = [
      ...['schedule.stages=[5]', 'schedule.discriminatorSteps=1', 'schedule.generatorSteps=0'],
      ...['schedule.alternatingSteps=0', 'batch.discriminator.problems=2', 'batch.discriminator.samples=2'],
      ...['evaluation.problems=2', 'evaluation.testProblems=2'],
    ].flatMap((assignment) => ['--set', assignment]);
    const command = ['dist/lab/bench/main.js', 'overhead', '--pairs', '1', '--sandbox', 'wasm', '--out', out, ...small];
    const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: ROOT });
    assert.match(stdout, /^watched \/ plain: \d+\.\d{3}, 1 pairs of runs$/m);
    const { pairs } = JSON.parse(readFileSync(out, 'utf8')) as { pairs: Required<Pair>[] };
    const { traces, scrapes, live } = pairs[0]!.other.received!;
    assert.ok(traces > 0 && scrapes > 0 && live > 0, JSON.stringify(pairs));
    assert.equal(pairs[0]!.plain.received, undefined);
    const { run, dashboard, browser } = pairs[0]!.other.cpu;
    assert.ok(run > 0 && dashboard > 0 && browser > 0, JSON.stringify(pairs));
    assert.deepEqual({ ...pairs[0]!.plain.cpu, run: 0 }, { run: 0, dashboard: 0, browser: 0 });
  });
});
