// Computes the time of each step, for tools that draw curves over time. Pauses do not count: a time is the start of the run
// plus the seconds of all activities up to the step.
import type { ExportedRun } from './exporter.js';

/** The time of a step in seconds since 1970. A step without a record has the time of the last recorded step. */
export function stepTimes({
  records,
  startedAt,
}: Pick<ExportedRun, 'records' | 'startedAt'>): (step: number) => number {
  const times = new Map<number, number>();
  let seconds = startedAt / 1000;
  for (const record of [...records.metrics].sort((a, b) => a.step - b.step)) {
    if (record.kind !== 'control') seconds += record.seconds;
    times.set(record.step, seconds);
  }
  return (step) => times.get(step) ?? seconds;
}
