// The before/after table of a run, for a terminal.
import Table from 'cli-table3';
import type { RunResult } from '../core/schema/run.js';
import { duration, percent } from './output.js';

const ROWS = [
  ['pass rate (sampled)', 'passRate'],
  ['pass rate (greedy)', 'greedyPassRate'],
  ['test validity', 'testValidity'],
  ['bug-catch rate', 'bugCatchRate'],
] as const;

export function resultTable(result: RunResult): string {
  const table = new Table({ head: ['held-out problems', 'before', 'after', 'change'], style: { head: ['cyan'] } });
  for (const [label, key] of ROWS) {
    const before = result.before[key];
    const after = result.after[key];
    const points = 100 * (after - before);
    table.push([label, percent(before), percent(after), `${points >= 0 ? '+' : ''}${points.toFixed(1)} points`]);
  }
  return `${table.toString()}\nbest checkpoint ${result.best} · training took ${duration(result.trainingSeconds)} · seed ${result.seed}`;
}
