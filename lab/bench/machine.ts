// Describes the machine and the checkout, and measures the load from other processes.
import { spawnSync } from 'node:child_process';
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { ROOT } from '../../infra/root.mjs';

export interface Machine {
  cpu: string;
  cores: number;
  memoryGb: number;
  system: string;
  loadAtStart: number; // the one-minute average
}

export const BUSY = 0.5; // results are unreliable if other processes use more cores than this

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    loadAtStart: Math.round(loadavg()[0]! * 100) / 100,
  };
}

export const say = (line: string): void => console.error(`bench: ${line}`);

/** Describes the machine, and prints a warning if it is busy. */
export function describeIdleMachine(): Machine {
  const machine = describeMachine();
  if (machine.loadAtStart > BUSY) say(`WARNING: load ${machine.loadAtStart}: other programs are running`);
  return machine;
}

/** The commit of the checkout. It ends with -dirty if there are uncommitted changes. */
export function currentCommit(): string {
  const git = (...args: string[]): string =>
    spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout?.trim() ?? '';
  const commit = git('rev-parse', '--short', 'HEAD');
  return commit === '' ? 'unknown' : commit + (git('status', '--porcelain') === '' ? '' : '-dirty');
}

/** The busy seconds of all cores since the machine started. */
export function busySeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000;
}

/** The number of cores that others used while one process spent `own` CPU seconds in `wall` seconds; at least 0. */
export function foreignCores(busy: number, own: number, wall: number): number {
  return wall > 0 ? Math.max(0, (busy - own) / wall) : 0;
}
