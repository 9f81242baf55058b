// npm run chaos -- --kills 50 --seed 1 [--sandbox docker] [--store-faults 0.01] [--disk] [--json]
// Kills workers, server and guests of the sandbox at seeded random moments of a real run, and compares what it ends with
// to an undisturbed run, byte for byte. Exits non-zero on any difference, orphan, or kill too few.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ChaosFigures, chaos } from './chaos.js';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    sandbox: { type: 'string', default: 'wasm' },
    'store-faults': { type: 'string', default: '0.002' },
    disk: { type: 'boolean', default: false }, // a store on a small tmpfs that fills up; needs root
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'gauntlet-chaos-'));
const disk = join(folder, 'disk');
mkdirSync(disk);
if (values.disk) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', disk]);

let figures: ChaosFigures | undefined;
try {
  figures = await chaos({
    folder,
    store: join(disk, 'store'),
    tmpfs: values.disk,
    kills: Number(values.kills),
    seed: Number(values.seed),
    sandbox: values.sandbox as 'wasm' | 'docker',
    storeFaults: Number(values['store-faults']),
    pause: [500, 6000],
    config: {
      preset: 'tiny',
      seed: Number(values.seed),
      schedule: { discriminatorSteps: 2, generatorSteps: 2, alternatingSteps: 2 },
      batch: { generator: { problems: 8, samples: 4 }, discriminator: { problems: 6, samples: 4 } },
      evaluation: { problems: 8, testProblems: 8 },
    },
    log: (line) => console.error(line),
  });
  const { differences, orphans, killed, compared, recovery, attempts, activities } = figures;
  if (values.json) console.log(JSON.stringify(figures));
  else {
    console.log(
      `${killed} kills: ${Object.entries(figures.kills)
        .map(([name, n]) => `${name} ${n}`)
        .join(', ')}`,
    );
    console.log(
      `${compared} digests and figures compared, ${differences.length} differ${differences
        .slice(0, 10)
        .map((d) => `\n  ${d}`)
        .join('')}`,
    );
    console.log(`left behind: ${orphans.processes} processes, ${orphans.containers} containers`);
    console.log(
      `next result after a kill: median ${recovery.median.toFixed(1)} s, 90 % ${recovery.p90.toFixed(1)} s, longest ${recovery.max.toFixed(1)} s`,
    );
    console.log(
      `${attempts} of ${activities} activities tried again; ${figures.undisturbedSeconds.toFixed(0)} s undisturbed, ${figures.disturbedSeconds.toFixed(0)} s with kills`,
    );
  }
  const whole = differences.length === 0 && orphans.processes === 0 && orphans.containers === 0;
  process.exitCode = whole && killed >= Number(values.kills) ? 0 : 1;
} finally {
  if (values.disk) execFileSync('umount', ['-l', disk]);
  if (!values.keep) rmSync(folder, { recursive: true, force: true });
}
