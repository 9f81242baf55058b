// The project's own hostile programs over every backend and isolation. All of them run on Docker's default isolation;
// where a program costs a container or an interpreter, every third one, or all with GAUNTLET_HOSTILE=all.
import assert from 'node:assert/strict';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { requireDocker } from './docker.js';
import { judgeOwnRows, OWN_ROWS } from './hostile/index.js';

const ALL = process.env.GAUNTLET_HOSTILE === 'all';
const third = OWN_ROWS.filter((_, i) => ALL || i % 3 === 0);
const BACKENDS = [
  {
    name: 'Docker, a uid per program',
    wasm: false,
    rows: OWN_ROWS,
    open: () => openDocker({ size: 1, isolation: 'uid' }),
  },
  {
    name: 'Docker, a container per program',
    wasm: false,
    rows: third,
    open: () => openDocker({ size: 1, isolation: 'strict' }),
  },
  { name: 'WebAssembly', wasm: true, rows: third, open: () => openWasm({ size: 1 }) },
];

describe('the hostile programs of this project', function () {
  this.timeout(600_000); // for a busy machine

  it('are at least 60, and each says why', () => {
    assert.ok(OWN_ROWS.length >= 60);
    assert.equal(new Set(OWN_ROWS.map((row) => row.id)).size, OWN_ROWS.length);
    assert.ok(OWN_ROWS.every((row) => row.why !== ''));
  });

  for (const { name, rows, open, wasm } of BACKENDS)
    it(`end as expected, leave nothing, and none passes falsely: ${name}`, async function () {
      if (!wasm) await requireDocker(this);
      const sandbox = await open();
      try {
        for (const { row, outcome, after, fingerprint } of await judgeOwnRows(rows, sandbox)) {
          const expected = ((wasm ? row.wasm?.[0] : undefined) ?? row.expect).split('|');
          assert.ok(
            expected.includes(outcome.outcome),
            `${row.id}: ${outcome.outcome}, expected ${expected}: ${outcome.messages}`,
          );
          if (after) assert.equal(after.outcome, 'pass', `left by ${row.id}: ${after.messages}`);
          assert.equal(fingerprint.outcome, 'pass', `the interpreter after ${row.id}: ${fingerprint.messages}`);
        }
      } finally {
        await sandbox.close();
      }
    });
});
