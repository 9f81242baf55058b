// Functions for all sections of the GPU benchmark: print measurements as lines of JSON, and measure times and memory.
import { writeSync } from 'node:fs';
import { GauntletError } from '../../../core/base/errors.js';
import type { MemoryKind } from '../../../ml/device/deviceSession.js';
import { queryGpu } from '../../../ml/device/gpuMemory.js';
import { ortApi } from '../../../ml/device/ortApi.js';
import { median } from '../results.js';
import type { Measurement } from './results.js';

export interface SectionOptions {
  device: MemoryKind;
  small: boolean; // true for small sizes, which only test the benchmark itself
  cache: string; // the folder for models
}

type Figures = Omit<Measurement, 'case'>;
/** Measures one case and prints the result. If the case fails, the other cases still run. */
export type Recorder = (name: string, measure: () => Promise<Figures>) => Promise<void>;

class TooLarge extends Error {}

export const record: Recorder = async (name, measure) => {
  const figures = await measure().catch(reasonOf);
  // writes synchronously, so that a killed process loses nothing
  writeSync(1, `${JSON.stringify({ case: name, ...figures } satisfies Measurement)}\n`);
};

/** Says why a case has no figures. A case that does not fit into the memory of the card counts as skipped, not failed. */
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

/** The memory of the card that all programs use. The runtime frees none, so after work this is the peak of this process. */
export async function usedGigabytes(device: MemoryKind): Promise<number | undefined> {
  const mebibytes = device === 'cuda' ? Number((await queryGpu('memory.used'))?.[0]) : Number.NaN;
  return Number.isNaN(mebibytes) ? undefined : round((mebibytes * 2 ** 20) / 1e9);
}

const ROUNDS = 3;
const ENOUGH_MS = 20_000;

/** Medians of up to three rounds after a warm-up round. @param run receives the number of the round */
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
