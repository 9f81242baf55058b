// What the sections of the GPU benchmark share: measurements as lines of JSON on standard output, times and memory.
import { writeSync } from 'node:fs';
import { GauntletError } from '../../../core/base/errors.js';
import type { MemoryKind } from '../../../ml/device/deviceSession.js';
import { queryGpu } from '../../../ml/device/gpuMemory.js';
import { ortApi } from '../../../ml/device/ortApi.js';
import { median } from '../results.js';
import type { Measurement } from './results.js';

export interface SectionOptions {
  device: MemoryKind;
  small: boolean; // sizes that try the benchmark itself
  cache: string; // folder for models
}

type Figures = Omit<Measurement, 'case'>;
/** Measures one case and prints it. Other cases go on if it fails. */
export type Recorder = (name: string, measure: () => Promise<Figures>) => Promise<void>;

class TooLarge extends Error {}

export const record: Recorder = async (name, measure) => {
  const figures = await measure().catch(reasonOf);
  writeSync(1, `${JSON.stringify({ case: name, ...figures } satisfies Measurement)}\n`); // a killed process keeps it
};

/** Why a case has no figures. One that does not fit into the memory of the card is no failure. */
export function reasonOf(error: Error): Pick<Measurement, 'skipped' | 'failed'> {
  const message = error.message.slice(0, 400);
  const isRefused = error instanceof TooLarge || (error instanceof GauntletError && error.code === 'OUT_OF_MEMORY');
  return isRefused ? { skipped: message } : { failed: message };
}

/** @throws TooLarge, which skips the case, if the card has less free memory */
export async function needMemory(device: MemoryKind, bytes: number): Promise<void> {
  const free = device === 'cuda' ? ortApi().cuda().freeMemory() : undefined;
  const gigabytes = (x: number): string => `${(x / 1e9).toFixed(1)} GB`;
  if (free !== undefined && free < bytes)
    throw new TooLarge(`it needs about ${gigabytes(bytes)}, and ${gigabytes(free)} of the card are free`);
}

/** Memory of the card in use, by all programs. The runtime gives none back, so after work it is the peak of this process. */
export async function usedGigabytes(device: MemoryKind): Promise<number | undefined> {
  const mebibytes = device === 'cuda' ? Number((await queryGpu('memory.used'))?.[0]) : Number.NaN;
  return Number.isNaN(mebibytes) ? undefined : round((mebibytes * 2 ** 20) / 1e9);
}

const ROUNDS = 3;
const ENOUGH_MS = 20_000;

/** Medians of up to three rounds after a first one, which also compiles. @param run gets the number of the round */
export async function timed<T>(run: (round: number) => Promise<T>, rounds = ROUNDS) {
  const times: number[] = [];
  let last!: T;
  for (let round = 0; round <= rounds; round++) {
    const start = performance.now();
    last = await run(round);
    times.push((performance.now() - start) / 1000);
    if (round > 0 && times.reduce((a, b) => a + b) * 1000 > ENOUGH_MS) break;
  }
  const [first, ...others] = times as [number, ...number[]];
  return { last, figures: { seconds: round(median(others)), least: round(Math.min(...others)), first: round(first) } };
}

export const round = (x: number): number => Number(x.toPrecision(4));
