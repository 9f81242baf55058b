// When a run did a step, for tools that draw curves over time: its start plus the seconds of all activities, without pauses.
import type { ExportedRun } from './exporter.js';

/** The time of a step in seconds since 1970. A step without a record has the time of the last one. */
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
