// Thousands of programs, a third of them hostile, in both isolations. Every other program keeps its verdict and roughly its
// usual time, the worker stays below its memory limit, and nothing is left. GAUNTLET_PROGRAMS=10000 runs the long form,
// GAUNTLET_ISOLATION selects one isolation, and after GAUNTLET_MINUTES no more programs are started.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import type Docker from 'dockerode';
import type { Isolation } from '../../core/schema/execution.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { ownLabels } from '../../sandbox/docker/reaper.js';
import { judgePrograms, type ProgramOutcome } from '../../sandbox/judgePrograms.js';
import type { ProgramRow } from '../../sandbox/programRows.js';
import { requireDocker } from './docker.js';
import { OWN_ROWS } from './hostile/index.js';
import type { HostileRow } from './hostile/row.js';
import { hostileRows } from './hostile.js';
import { LARGE } from './largeAnswers.js';

const PROGRAMS = Number(process.env.GAUNTLET_PROGRAMS ?? 0);
const MINUTES = Number(process.env.GAUNTLET_MINUTES ?? 24 * 60);
const SHORT: Record<Isolation, number> = { uid: 60, strict: 24 };
const BATCH = 240;
const ALONE = 24; // before each batch, programs run without hostile ones to measure the usual time
const BOUND_MB = 512; // the limit in docs/sandbox.md
const LIMITS = { cpuSeconds: 20, caseCpuSeconds: 20, wallSeconds: 60 }; // long enough for a slow machine
const TIGHT = { cpuSeconds: 0.2, caseCpuSeconds: 0.15, wallSeconds: 0.6 }; // the limits of programs that end at a limit

const HOSTILE: HostileRow[] = [
  ...OWN_ROWS,
  ...LARGE.map((row) => ({ ...row, why: 'large answers' })),
  ...(hostileRows() ?? []), // hostile programs of the catalogue
];

interface Planned {
  row: ProgramRow;
  expect: string[];
  isHostile: boolean;
}

/** A program with a known verdict. Its values depend on its number, so that the answer of another program is visible. */
function neighbour(i: number): Planned {
  const work = 'def f(x):\n  t = 0\n  for k in range(20000): t += k % 7\n  ';
  const [code, expect] = [
    [`${work}return x + ${i}`, 'pass'],
    [`${work}return x + ${i} + t % 2 * 2 + 1`, 'fail'],
    [`${work}raise ValueError(${i})`, 'error'],
    [`${work}return [x + ${i}][0]`, 'pass'],
  ][i % 4]!;
  const tests = [1, 2, 3].map((x) => [[x], x + i]) as ProgramRow['tests'];
  return { row: { id: `n${i}`, code: code!, entry: 'f', tests, limits: LIMITS }, expect: [expect!], isHostile: false };
}

function hostile(i: number, isolation: Isolation): Planned {
  const known: HostileRow = HOSTILE[(37 * i) % HOSTILE.length]!; // even a few programs include all kinds
  const { id, code, tests, comparison, calling, entry } = known;
  const expect = ((isolation === 'strict' && known.strict?.[0]) || known.expect).split('|');
  const limits = expect.includes('timeout') ? TIGHT : { ...LIMITS, memoryMb: known.limits?.memoryMb };
  const row = { id: `h${i} ${id}`, code, entry, tests: tests.slice(0, 3), comparison, calling, limits };
  return { row: JSON.parse(JSON.stringify(row)) as ProgramRow, expect, isHostile: true };
}

/** The containers of this process that the daemon knows. */
async function followContainers(docker: Docker): Promise<{ ids: Set<string>; stop(): void }> {
  const label = `gauntlet.sandbox.session=${ownLabels()['gauntlet.sandbox.session']}`;
  const filters = JSON.stringify({ type: ['container'], event: ['create'], label: [label] });
  const stream = (await docker.getEvents({ filters })) as NodeJS.ReadableStream & { destroy(): void };
  const ids = new Set<string>();
  stream.on('data', (text: Buffer) => {
    for (const [, id] of String(text).matchAll(/"ID":"([0-9a-f]{64})"/g)) ids.add(id!);
  });
  return { ids, stop: () => stream.destroy() };
}

/** The traces of containers: entries of the daemon, folders, control groups, and processes. */
async function leftOf(docker: Docker, ids: Set<string>): Promise<string[]> {
  const found = [];
  const isOurs = (text: string) => [...text.matchAll(/[0-9a-f]{64}/g)].some(([id]) => ids.has(id));
  for (const { Id } of await docker.listContainers({ all: true })) if (ids.has(Id)) found.push(`container ${Id}`);
  const groups = fs.readdirSync('/sys/fs/cgroup').map((name) => `/sys/fs/cgroup/${name}/docker`);
  for (const folder of ['/var/lib/docker/containers', '/sys/fs/cgroup/docker', ...groups].filter(fs.existsSync))
    found.push(
      ...fs
        .readdirSync(folder)
        .filter(isOurs)
        .map((name) => `${folder}/${name}`),
    );
  for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
    try {
      if (isOurs(fs.readFileSync(`/proc/${pid}/cgroup`, 'latin1'))) found.push(`process ${pid}`);
    } catch {
      // the process has ended
    }
  return found;
}

const quantile = (values: number[], q: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))]!;
const rss = (): number => process.memoryUsage().rss / 2 ** 20;

describe('many programs, a third of them hostile', function () {
  this.timeout(4 * 3600_000);
  const isolations = (['uid', 'strict'] as const).filter((each) => (process.env.GAUNTLET_ISOLATION ?? each) === each);

  for (const isolation of isolations) {
    const count = PROGRAMS || SHORT[isolation];
    it(`leave nothing and do not affect others: isolation ${isolation}, ${count} programs`, async function () {
      const docker = await requireDocker(this);
      const { ids, stop } = await followContainers(docker);
      const sandbox = await openDocker({ size: 2, isolation });
      const [usual, beside, wrong]: [number[], number[], string[]] = [[], [], []];
      const idle = rss();
      let peak = idle;
      let programs = 0;
      const run = async (planned: Planned[], times: number[]): Promise<void> => {
        const outcomes: ProgramOutcome[] = await judgePrograms(
          planned.map(({ row }) => row),
          sandbox,
          { onProgress: () => (peak = Math.max(peak, rss())) },
        );
        for (const [i, { row, expect, isHostile }] of planned.entries()) {
          const { outcome, messages, ms } = outcomes[i]!;
          if (!expect.includes(outcome)) wrong.push(`${row.id}: ${outcome} (${messages}), expected ${expect}`);
          if (!isHostile) times.push(ms);
        }
      };
      const started = performance.now();
      try {
        const isLate = () => performance.now() - started > MINUTES * 60_000;
        for (let first = 0; first < count && !isLate(); first += BATCH) {
          await run(
            Array.from({ length: ALONE }, (_, k) => neighbour(1_000_000 + k)),
            usual,
          );
          const numbers = Array.from({ length: Math.min(BATCH, count - first) }, (_, k) => first + k);
          const plan = numbers.map((i) => (i % 3 === 2 ? hostile((i - 2) / 3, isolation) : neighbour(i)));
          await run(plan, beside);
          programs += plan.length;
        }
      } finally {
        await sandbox.close();
        stop();
      }
      const figures = {
        programs,
        seconds: Math.round((performance.now() - started) / 1000),
        containers: ids.size,
        grownMb: Math.round(peak - idle),
        usualMs: [quantile(usual, 0.5), quantile(usual, 0.95)].map(Math.round),
        besideMs: [quantile(beside, 0.5), quantile(beside, 0.95)].map(Math.round),
      };
      console.log(`      ${JSON.stringify(figures)}`);
      assert.deepEqual(wrong, []);
      assert.ok(ids.size >= 2, 'the daemon reported no containers');
      assert.deepEqual(await leftOf(docker, ids), []);
      assert.ok(peak - idle < BOUND_MB, `the process grew by ${peak - idle} MB`);
      if (PROGRAMS)
        assert.ok(quantile(beside, 0.5) < 2 * quantile(usual, 0.5), 'neighbours take twice their usual time');
    });
  }
});
