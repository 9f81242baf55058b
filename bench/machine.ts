// What the figures were taken on, and how much else it did meanwhile.
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';

export interface Machine {
  cpu: string;
  cores: number;
  memoryGb: number;
  system: string;
  loadAtStart: number; // one-minute average
}

export const BUSY = 0.5; // cores used by others from which on figures are doubtful

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    loadAtStart: Math.round(loadavg()[0]! * 100) / 100,
  };
}

/** Seconds of all cores in which something ran, since the machine's start. */
export function busySeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000;
}

/** Seconds in which a core of a virtual machine had work and its host ran something else; undefined where no system tells. */
export function stolenSeconds(stat: () => string = () => readFileSync('/proc/stat', 'utf8')): number | undefined {
  try {
    const ticks = /^cpu +(?:\d+ +){7}(\d+)/.exec(stat())?.[1];
    return ticks === undefined ? undefined : Number(ticks) / 100; // USER_HZ
  } catch {
    return undefined;
  }
}

/** Cores that others kept busy while one process spent `own` CPU seconds in `wall` seconds; never below 0. */
export function foreignCores(busy: number, own: number, wall: number): number {
  return wall > 0 ? Math.max(0, (busy - own) / wall) : 0;
}
