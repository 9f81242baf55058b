// The picture of the README.
import assert from 'node:assert/strict';
import type { RunMetrics } from '../../core/schema/metrics.js';
import { curvesOf } from '../../lab/experiments/curves.js';
import { sampleData } from '../support/sample.js';

describe('the curves of a run and its control', () => {
  it('place the control by its number of generator updates', () => {
    const { config, metrics, result } = sampleData();
    const sorted = metrics.toSorted((a, b) => a.step - b.step);
    const [base] = sorted.filter(({ kind }) => kind === 'evaluation');
    // in 12 updates, the generator of the run makes 5–8, 9 and 11; the control makes only these six
    const updates = sorted.filter((record) => record.kind === 'step' && record.role === 'generator').slice(0, 6);
    const control: RunMetrics[] = [
      ...updates.map((record, i) => ({ ...record, step: i + 1 })),
      ...[0, 4, 5, 6].map((step) => ({ ...base!, step })),
    ];
    const svg = curvesOf({ config, metrics: sorted, result }, { config, metrics: control });
    const stepsOf = (points: string): number[] =>
      points.split(' ').map((point) => Math.round(((Number(point.split(',')[0]) - 62) / (936 - 62)) * 60));
    const [own, others] = [...svg.matchAll(/<polyline points="([^"]+)"/g)].map(([, points]) => stepsOf(points!));
    assert.deepEqual(own!.slice(0, 4), [0, 4, 8, 9]);
    assert.equal(own!.length, 31); // the base, and 6 epochs in each of 5 stages
    assert.deepEqual(others, [0, 8, 9, 11]);
    assert.match(svg, /prefers-color-scheme:dark/);
    assert.match(svg, />stage 5</);
  });
});
