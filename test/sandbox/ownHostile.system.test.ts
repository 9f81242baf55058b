// The project's own hostile programs on every backend and isolation. Docker's default isolation runs all of them, and the
// other ones run every third, or all with GAUNTLET_HOSTILE=all.
import assert from 'node:assert/strict';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import type { ProgramOutcome } from '../../sandbox/judgePrograms.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { requireDocker } from './docker.js';
import { judgeOwnRows, OWN_ROWS } from './hostile/index.js';
import type { HostileRow } from './hostile/row.js';

const ALL = process.env.GAUNTLET_HOSTILE === 'all';
const third = OWN_ROWS.filter((_, i) => ALL || i % 3 === 0);
const BACKENDS = [
  { kind: 'uid', rows: OWN_ROWS, open: () => openDocker({ size: 1, isolation: 'uid' }) },
  { kind: 'strict', rows: third, open: () => openDocker({ size: 1, isolation: 'strict' }) },
  { kind: 'wasm', rows: third, open: () => openWasm({ size: 1 }) },
] as const;
const NAMES = { uid: 'Docker, a uid per program', strict: 'Docker, a container per program', wasm: 'WebAssembly' };

/** The allowed outcomes of a row on a backend. */
const expectedOf = (row: HostileRow, kind: keyof typeof NAMES) =>
  ((kind === 'uid' ? undefined : row[kind]?.[0]) ?? row.expect).split('|');

const isSlow = (row: HostileRow) => row.expect.startsWith('timeout');
const told = ({ outcome, messages }: ProgramOutcome) => `${outcome} (${messages})`;

describe('the hostile programs of this project', () => {
  it('include at least 60 programs, each with a reason', () => {
    assert.ok(OWN_ROWS.length >= 60);
    assert.equal(new Set(OWN_ROWS.map((row) => row.id)).size, OWN_ROWS.length);
    assert.ok(OWN_ROWS.every((row) => row.why !== ''));
  });

  for (const { kind, rows, open } of BACKENDS)
    it(`end as expected and leave nothing: ${NAMES[kind]}`, async function () {
      if (kind !== 'wasm') await requireDocker(this);
      // programs that wait for a limit run in parallel with the other programs
      const lanes = [rows.filter(isSlow), rows.filter((row) => !isSlow(row))];
      const judged = await Promise.all(
        lanes.map(async (lane) => {
          const sandbox = await open();
          try {
            return await judgeOwnRows(lane, sandbox, kind !== 'strict');
          } finally {
            await sandbox.close();
          }
        }),
      );
      const wrong = judged.flat().flatMap(({ row, outcome, after, fingerprint }) => {
        const expected = expectedOf(row, kind);
        return [
          ...(expected.includes(outcome.outcome) ? [] : [`${row.id}: ${told(outcome)}, expected ${expected}`]),
          ...(after && after.outcome !== 'pass' ? [`left by ${row.id}: ${told(after)}`] : []),
          ...(fingerprint && fingerprint.outcome !== 'pass' ? [`the next after ${row.id}: ${told(fingerprint)}`] : []),
        ];
      });
      assert.equal(judged.flat().length, rows.length);
      assert.deepEqual(wrong, []);
    });
});
