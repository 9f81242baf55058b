// The plan and the verdict of a cluster run. `npm run cluster -- --quick` makes a short run; it needs root.
import assert from 'node:assert/strict';
import { type ClusterFigures, complaints, described } from '../../lab/cluster/figures.js';
import { planFaults } from '../../lab/cluster/plan.js';

const HOSTS = ['orchestrator', 'gpu1', 'gpu2', 'sandbox'];

describe('planFaults', () => {
  const options = { faults: 20, seed: 3, results: 400, hosts: HOSTS };
  const plan = planFaults(options);

  it('depends only on the seed', () => {
    assert.deepEqual(planFaults(options), plan);
    assert.notDeepEqual(planFaults({ ...options, seed: 4 }), plan);
  });

  it('hits every host with every kind of fault, in order and before the run ends', () => {
    const pairs = plan.slice(0, 12).map(({ host, kind }) => `${host} ${kind}`);
    assert.equal(new Set(pairs).size, 12);
    const moments = plan.map(({ after }) => after);
    assert.deepEqual(
      moments,
      [...moments].sort((a, b) => a - b),
    );
    assert.ok(moments.every((after) => after >= 0 && after <= 0.6 * options.results));
    assert.ok(plan.every(({ outage }) => outage >= 1000 && outage <= 30_000));
  });
});

describe('the verdict of a cluster run', () => {
  const sound: ClusterFigures = {
    seed: 1,
    asked: 2,
    faults: ['cut', 'crash'],
    compared: 200,
    differences: [],
    damaged: [],
    adapters: { generator: 'sha256:aa', discriminator: 'sha256:bb' },
    activities: 30,
    attempts: { trainPolicy: 1 },
    recovery: { median: 1, p90: 2, max: 2 },
    seconds: 20,
  };

  it('names every failed condition', () => {
    assert.deepEqual(complaints(sound), []);
    assert.match(described(sound).join('\n'), /2 faults: cut 1, crash 1\n200 digests.*\n.*generator sha256:aa/);
    const failed = { ...sound, asked: 3, compared: 0, differences: ['result digests'], damaged: ['blob ab: missing'] };
    assert.deepEqual(complaints(failed), [
      'only 2 of 3 faults took place before the run ended',
      'there was nothing to compare',
      '1 of 0 digests and figures differ: result digests',
      '1 artifacts are damaged or missing: blob ab: missing',
    ]);
  });
});
