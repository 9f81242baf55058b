// `npm run bench -- dashboard`: how fast the pages answer several viewers of a store with many runs, and what they cost a
// training on the same machine: the CPU time of the dashboard's process.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../../../infra/root.mjs';
import { writeMetrics } from '../../../store/runs.js';
import { firstAnswer, start, stop } from '../../commands.js';
import { cpuSeconds } from '../cpuTime.js';
import { describeIdleMachine, say } from '../machine.js';
import { BenchError, commandLine, FLAG, positive, readFlags, TEXT } from '../options.js';
import { median, quantile, saveJson } from '../results.js';
import { type MadeStore, makeRuns } from './manyRuns.js';
import { type Answer, Viewer } from './viewer.js';

const USAGE = `npm run bench -- dashboard --from STORE [options]
  --from STORE    a folder with a finished run, which is copied; gauntlet demo --store STORE makes one
  --runs N        copies (default 20)
  --viewers N     people who look at once (default 4)
  --rounds N      visits to all views, for each viewer (default 5)
  --steps N       steps that one run records while pages are open (default 12)
  --seconds N     between two of these steps (default 5)
  --out FILE      write results as JSON (default .cache/bench/dashboard.json)`;

export interface Figures {
  firstViewMs: number;
  kinds: { kind: string; requests: number; medianMs: number; p95Ms: number; kilobytes: number }[];
  p95Ms: number; // of all requests of visits
  cpuPerVisit: number; // seconds of one visit to all views
  openShare: number; // of a core, while pages are open and one run records steps
  idleShare: number; // while pages are open and nothing is recorded
  peakMegabytes: number;
}

export function kindsOf(answers: readonly Answer[]): Figures['kinds'] {
  return [...new Set(answers.map(({ kind }) => kind))].map((kind) => {
    const own = answers.filter((answer) => answer.kind === kind);
    const ms = own.map((answer) => answer.ms);
    const kilobytes = Math.max(...own.map(({ bytes }) => bytes)) / 1000;
    return { kind, requests: own.length, medianMs: median(ms), p95Ms: quantile(ms, 0.95), kilobytes };
  });
}

interface Load {
  viewers: number;
  rounds: number;
  seconds: number;
}

async function measure(
  { store, runs, toCome }: MadeStore,
  { viewers: count, rounds, seconds }: Load,
): Promise<Figures> {
  const dashboard = start(['dashboard', '--store', store.locate('')], process.env);
  try {
    const { url } = await firstAnswer(dashboard, 'dashboard');
    const viewers = Array.from({ length: count }, () => new Viewer(url));
    const firstViewMs = await viewers[0]!.first();
    const all = viewers.slice();
    const cpu = () => cpuSeconds(dashboard.pid!);
    const share = async (during: Promise<unknown>): Promise<number> => {
      const [before, started] = [cpu(), performance.now()];
      await during;
      return (cpu() - before) / ((performance.now() - started) / 1000);
    };

    const before = cpu();
    const visit = async (viewer: Viewer, index: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const at = (round * count + index) % runs.length;
        const { id, steps } = runs[at]!;
        const { step } = steps[(7 * at + 3) % steps.length]!;
        await viewer.click({ run: id, step, group: at % 4, other: runs[(at + 1) % runs.length]!.id });
      }
    };
    await Promise.all(all.map(visit));
    const cpuPerVisit = (cpu() - before) / (rounds * count);
    const visits = viewers.flatMap(({ answers }) => answers.splice(0));

    const [run, closing] = [runs[0]!.id, new AbortController()];
    const pages: ((viewer: Viewer) => Promise<void>)[] = [
      (viewer) => viewer.list(),
      (viewer) => viewer.run(run),
      (viewer) => viewer.problems(run),
    ];
    const open = viewers.map(async (viewer, i) => {
      const page = pages[i % pages.length]!;
      await page(viewer);
      await viewer.follow(() => page(viewer), i % pages.length === 0 ? undefined : run, closing.signal);
    });
    await sleep(1000);
    const idleShare = await share(sleep(1000 * seconds * Math.ceil(toCome.length / 2)));
    const openShare = await share(
      (async () => {
        for (const record of toCome) {
          await writeMetrics(store, run, record.step, record);
          await sleep(1000 * seconds);
        }
      })(),
    );
    closing.abort();
    await Promise.all(open);
    const p95Ms = quantile(
      visits.map(({ ms }) => ms),
      0.95,
    );
    const [, peak] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${dashboard.pid}/status`, 'utf8')) ?? [];
    const kinds = kindsOf(visits);
    return { firstViewMs, kinds, p95Ms, cpuPerVisit, openShare, idleShare, peakMegabytes: Number(peak) / 1024 };
  } finally {
    await stop(dashboard);
  }
}

export async function benchDashboard(args: string[]): Promise<void> {
  const texts = { from: TEXT, runs: TEXT, viewers: TEXT, rounds: TEXT, steps: TEXT, seconds: TEXT, out: TEXT };
  const flags = readFlags(args, { ...texts, help: FLAG });
  if (flags.help) return console.log(USAGE);
  if (flags.from === undefined) throw new BenchError('--from names no store; --help shows what it needs', 2);
  const number = (name: keyof typeof texts, value: string): number => positive(name, flags[name] ?? value);
  const load = { viewers: number('viewers', '4'), rounds: number('rounds', '5'), seconds: number('seconds', '5') };
  const machine = describeIdleMachine();
  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-dashboard-'));
  try {
    const made = await makeRuns(flags.from, folder, number('runs', '20'), number('steps', '12'));
    say(`${made.runs.length} runs with ${made.samples} samples`);
    const figures = await measure(made, load);
    const command = commandLine(['dashboard', ...args]);
    saveJson(flags.out ?? join(ROOT, '.cache', 'bench', 'dashboard.json'), { command, machine, load, figures });
    print(figures);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function print({ kinds, ...figures }: Figures): void {
  const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
  console.log(`first view of the list: ${figures.firstViewMs.toFixed(0)} ms`);
  for (const { kind, requests, medianMs, p95Ms, kilobytes } of kinds)
    console.log(
      `${kind.padEnd(12)}${requests} requests, median ${medianMs.toFixed(0)} ms, 95th percentile ${p95Ms.toFixed(0)} ms, at most ${kilobytes.toFixed(0)} kB`,
    );
  console.log(`95th percentile of all requests: ${figures.p95Ms.toFixed(0)} ms`);
  console.log(`CPU time of a visit to all views: ${figures.cpuPerVisit.toFixed(2)} s`);
  console.log(
    `share of a core, pages open: ${percent(figures.openShare)}; nothing recorded: ${percent(figures.idleShare)}`,
  );
  console.log(`peak memory: ${figures.peakMegabytes.toFixed(0)} MB`);
}
