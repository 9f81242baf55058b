// The before/after table of a run.
import { shareInterval } from '../../core/evaluation/intervals.js';
import { checkpointName } from '../../core/schema/checkpoint.js';
import type { RunResult } from '../../core/schema/run.js';
import { counted, duration, interval, percent, tableText } from './output.js';

export const RATES = [
  ['pass rate (sampled)', 'passRate'],
  ['pass rate (greedy)', 'greedyPassRate'],
  ['test validity', 'testValidity'],
  ['bug-catch rate', 'bugCatchRate'],
] as const;

export function resultTable(result: RunResult): string {
  const { warmStart, problems } = result;
  const rows = RATES.map(([label, key]) => {
    const [before, after] = [result.before[key], result.after[key]];
    const known = before !== undefined && after !== undefined;
    const points = known ? tenths(after) - tenths(before) : 0; // the difference between the figures as they are shown
    const warm = warmStart ? [percent(warmStart[key])] : [];
    return [
      label,
      percent(before),
      ...warm,
      percent(after),
      ...(problems ? [known && key !== 'bugCatchRate' ? interval(shareInterval(after, problems)) : '–'] : []),
      known ? `${points >= 0 ? '+' : ''}${(points / 10).toFixed(1)} points` : '–',
    ];
  });
  const table = tableText(
    [
      problems ? counted(problems, 'held-out problem') : 'held-out problems',
      'before',
      ...(warmStart ? ['warm start'] : []),
      'after',
      ...(problems ? ['95 % interval'] : []),
      'change',
    ],
    rows,
  );
  const few = problems && problems < 5 ? '\nso few problems say little about others' : '';
  const untrained = result.best === checkpointName(0, 0) ? ', the untrained model: no other was better' : '';
  const stopped = result.stopped === undefined ? '' : `\nended before its schedule: ${result.stopped}`;
  const { generator, discriminator } = result.digests;
  const adapters = [generator, discriminator].map((digest) => digest.replace('sha256:', '').slice(0, 8)).join(', ');
  const steps = `training steps ${duration(result.trainingSeconds)}`;
  const report = result.report === undefined ? '' : `\nreport ${result.report}`;
  return `${table}${few}${stopped}\nbest checkpoint ${result.best}${untrained} · ${steps} · seed ${result.seed}\nadapters ${adapters}${report}`;
}

const tenths = (rate: number): number => Math.round(1000 * rate);
