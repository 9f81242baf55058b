// Forged passes of test source: hostile programs with three kinds of tests, and hostile tests, on every backend.
import assert from 'node:assert/strict';
import { judgeProgram } from '../../core/comparison/compare.js';
import type { TestJob } from '../../core/schema/execution.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { pluck } from '../support/pluck.js';
import { requireDocker } from './docker.js';
import { NAMES, PROGRAMS, SOURCES, TESTS } from './hostile/testSource.js';

const limits = { cpuSeconds: 6, caseCpuSeconds: 0.5, wallSeconds: 30, memoryMb: 256, outputBytes: 1_000_000 };
const job = (id: string, code: string, source: string, style: 'assert' | 'pytest'): TestJob => ({
  id,
  code,
  entry: 'f',
  style,
  files: { [style === 'pytest' ? 'test_it.py' : 'asserts.py']: source },
  limits,
});
const RIGHT = 'def f(x): return x + 1\n';
const WRONG = 'def f(x): return 0\n';
const DOUBLE = 'def f(x): return x * 2.0\n';
const BACKENDS = [
  { name: 'Docker', open: () => openDocker({ size: 1 }), hasPytest: true },
  { name: 'WebAssembly', open: () => openWasm({ size: 1 }), hasPytest: false },
];

for (const { name, open, hasPytest } of BACKENDS)
  describe(`forged passes of test source: ${name}`, () => {
    let sandbox: Sandbox;
    before(async function () {
      if (name === 'Docker') await requireDocker(this);
      sandbox = await open();
    });
    after(() => sandbox?.close());

    const kinds = Object.entries(SOURCES).flatMap(([kind, source]) => [
      ...(kind === 'pytest' ? [] : [{ kind, source, style: 'assert' as const }]),
      ...(kind !== 'assert' && hasPytest ? [{ kind: `${kind} under pytest`, source, style: 'pytest' as const }] : []),
    ]);
    for (const { kind, source, style } of kinds)
      it(`reports both tests, and no hostile program passes both: ${kind}`, async () => {
        const hostile = Object.entries(PROGRAMS).map(([id, code]) => job(id, code, source, style));
        const runs = await sandbox.runTests([...hostile, job('right', RIGHT, source, style)]);
        assert.deepEqual(pluck(runs.pop()!.tests, 'outcome'), ['pass', 'pass']);
        for (const { id, tests } of runs) {
          assert.equal(tests.length, 2, `${id}: ${JSON.stringify(tests)}`);
          assert.notEqual(tests[1]!.outcome, 'pass', `${id}: ${JSON.stringify(tests)}`);
        }
      });

    for (const style of hasPytest ? (['assert', 'pytest'] as const) : (['assert'] as const))
      it(`lets no name of a program decide a test: ${style}`, async () => {
        const rows = NAMES.filter((row) => (row.style ?? style) === style);
        const jobs = rows.flatMap(({ id, tests, attack, imports = '' }) =>
          [WRONG + attack, WRONG, DOUBLE].map((code) => ({ ...job(id, `${imports}\n${code}`, tests, style), imports })),
        );
        const runs = await sandbox.runTests(jobs);
        for (const [k, { id, right = 'pass' }] of rows.entries()) {
          const three = runs.slice(3 * k, 3 * k + 3);
          const [attacked, wrong, double] = three.map(({ tests }) => judgeProgram(tests.map(({ outcome }) => outcome)));
          const told = `${id}: ${JSON.stringify(three)}`;
          assert.deepEqual([attacked !== 'pass', wrong !== 'pass', double], [true, true, right], told);
          const [names, others] = three.map(({ tests }) => tests.map(({ name }) => name));
          assert.deepEqual(names, others, told);
        }
      });

    it('lets no hostile test source pass or affect the next job', async () => {
      const jobs = Object.entries(TESTS).flatMap(([id, source]) => [
        job(id, RIGHT, source, 'assert'),
        job('right', RIGHT, `import os\nassert not os.path.exists("/tmp/left")\n${SOURCES.assert}`, 'assert'),
      ]);
      const runs = await sandbox.runTests(jobs);
      for (const [i, { id, tests }] of runs.entries())
        if (i % 2 === 1)
          assert.deepEqual(pluck(tests, 'outcome'), ['pass', 'pass', 'pass'], `after ${jobs[i - 1]!.id}`);
        else
          assert.ok(
            tests.length === 0 || tests.some((test) => test.outcome !== 'pass'),
            `${id}: ${JSON.stringify(tests)}`,
          );
    });
  });
