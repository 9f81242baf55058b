// The before/after table of a run.
import type { RunResult } from '../core/schema/run.js';
import { duration, percent, tableText } from './output.js';

const ROWS = [
  ['pass rate (sampled)', 'passRate'],
  ['pass rate (greedy)', 'greedyPassRate'],
  ['test validity', 'testValidity'],
  ['bug-catch rate', 'bugCatchRate'],
] as const;

export function resultTable(result: RunResult): string {
  const rows = ROWS.map(([label, key]) => {
    const [before, after] = [result.before[key], result.after[key]];
    const points = 100 * (after - before);
    return [label, percent(before), percent(after), `${points >= 0 ? '+' : ''}${points.toFixed(1)} points`];
  });
  const table = tableText(['held-out problems', 'before', 'after', 'change'], rows);
  const stopped = result.stopped === undefined ? '' : `\nended before its schedule: ${result.stopped}`;
  return `${table}${stopped}\nbest checkpoint ${result.best} · training took ${duration(result.trainingSeconds)} · seed ${result.seed}`;
}
