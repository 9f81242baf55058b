// The memory of the host is limited, whatever programs return (docs/sandbox.md, "Memory of the worker").
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { requireDocker } from './docker.js';
import { LARGE } from './largeAnswers.js';
import type { Measured } from './largeAnswersProcess.js';

const PROCESS = fileURLToPath(new URL('./largeAnswersProcess.js', import.meta.url));
const BOUND_MB = 512; // the limit in docs/sandbox.md

const VARIANTS = [
  { backend: 'docker', copies: 2 },
  { backend: 'wasm', copies: 1 },
] as const;

describe('programs with large answers', function () {
  this.timeout(900_000); // long enough for a busy machine

  for (const { backend, copies } of VARIANTS)
    it(`end with verdicts within the memory limit: ${backend}`, async function () {
      if (backend === 'docker') await requireDocker(this);
      const args = [PROCESS, backend, String(copies)];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { grownMb, outcomes, kept } = JSON.parse(stdout) as Measured;
      const expected = new Map(LARGE.map((row) => [row.id, row.expect.split('|')]));
      assert.equal(outcomes.length, expected.size * copies);
      assert.deepEqual(
        outcomes.filter(([id, outcome]) => !expected.get(id)!.includes(outcome)),
        [],
      );
      // each program keeps the same number of answers until it exceeds its budget
      const values = kept[0]!.filter((kind) => kind === 'value').length;
      assert.ok(values > 0 && values < 10, `${values} answers were kept`);
      const each = kept[0]!.map((_, i) => (i < values ? 'value' : 'error'));
      assert.deepEqual(
        kept,
        kept.map(() => each),
      );
      assert.ok(grownMb < BOUND_MB, `the process grew by ${grownMb} MB`);
    });
});
