// Experiments: the arms are valid, the statistics are right, and the page follows from the records.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { resolveConfig } from '../../core/config/presets.js';
import { countSteps, planWarmStart } from '../../core/run/schedule.js';
import { ROOT } from '../../infra/root.mjs';
import { ARMS, FRESH_SEEDS, QUICK, TRAINABLE } from '../../lab/experiments/arms.js';
import { withRecords } from '../../lab/experiments/page.js';
import { unfounded } from '../../lab/experiments/prose.js';
import { type ExperimentRecord, readRecords, recordsPath, saveRecord } from '../../lab/experiments/records.js';
import { configOf, digestOf } from '../../lab/experiments/run.js';
import { temporaryFolder } from '../infra/support.js';

function record(arm: string, seed: number, pass: number, over: Partial<ExperimentRecord> = {}): ExperimentRecord {
  return {
    family: 'nested',
    arm,
    equal: 'updates',
    seed,
    commit: 'c0ffee00',
    config: 'sha256:cc',
    results: `sha256:${arm}${seed}`,
    adapters: { generator: 'sha256:aa', discriminator: 'sha256:bb' },
    updates: 60,
    tokens: 12_345,
    seconds: 100,
    metrics: { 'pass@1': pass },
    before: { passRate: 0.5, greedyPassRate: 0.5, testValidity: 0.4, bugCatchRate: 0.3 },
    after: { passRate: pass, greedyPassRate: pass, testValidity: 0.6, bugCatchRate: 0.5 },
    ...over,
  };
}

describe('the experiments', () => {
  it('have valid arms, all but four of which update the generator as often as the method', () => {
    const updates = (config: object): number =>
      countSteps(resolveConfig(config), 'generator') +
      planWarmStart(resolveConfig(config)).filter(({ role }) => role === 'generator').length;
    assert.equal(new Set(ARMS.map(({ name }) => name)).size, ARMS.length);
    const family = 'nested';
    const others: Record<string, number> = { untrained: 0, 'supervised-longer': 200, warm: 208, 'warm-code-only': 208 };
    const method = updates(configOf({ family, arm: 'method' }, {}));
    for (const { name: arm } of TRAINABLE) {
      assert.equal(updates(configOf({ family, arm }, {})), others[arm] ?? method, arm);
      resolveConfig(configOf({ family, arm }, QUICK.over));
    }
    assert.deepEqual(
      resolveConfig(configOf({ family: 'tiny', arm: 'method' }, {})),
      resolveConfig({ preset: 'tiny' }),
      'the seeds of tiny train the preset as it is',
    );
  });

  it('draw ten different fresh seeds', () => {
    assert.equal(new Set(FRESH_SEEDS).size, 10);
    for (const known of [0, 1, 2, 3, 4, 5, 1001, 1002, 1003, 90210]) assert.ok(!FRESH_SEEDS.includes(known));
  });

  it('train an arm longer in every stage if it must sample more tokens', () => {
    const { schedule } = resolveConfig(configOf({ family: 'nested', arm: 'frozen' }, {}, 1.6));
    const { discriminatorSteps, generatorSteps, alternatingSteps, stages } = schedule;
    assert.deepEqual([discriminatorSteps, generatorSteps, alternatingSteps, stages.length], [3, 3, 6, 2]); // 2 × 1.6 and 4 × 1.6
  });

  it('treat an arm at equal tokens as the same run if its schedule does not change', () => {
    const key = { family: 'nested', arm: 'frozen', seed: 3 } as const;
    const [updates, same, longer] = [
      digestOf({ ...key, equal: 'updates' }, { over: {} }, 1),
      digestOf({ ...key, equal: 'tokens' }, { over: {} }, 0.98),
      digestOf({ ...key, equal: 'tokens' }, { over: {} }, 1.5),
    ];
    assert.equal(same, updates);
    assert.notEqual(longer, updates);
  });

  it('keep records in the order of arms and seeds, with one record for each key', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'records.jsonl');
    assert.deepEqual(readRecords(path), []);
    for (const one of [record('frozen', 0, 0.5), record('method', 1, 0.8), record('method', 0, 0.6)])
      saveRecord(path, one);
    saveRecord(path, record('method', 1, 0.9));
    const read = readRecords(path);
    assert.deepEqual(
      read.map(({ arm, seed, metrics }) => [arm, seed, metrics['pass@1']]),
      [
        ['method', 0, 0.6],
        ['method', 1, 0.9],
        ['frozen', 0, 0.5],
      ],
    );
  });

  it('compare every arm with the method or another arm, seed by seed', () => {
    const records = [0, 1, 2].flatMap((seed) => [
      record('method', seed, 0.8 + seed / 100),
      record('alternating', seed, 0.6),
      record('simultaneous', seed, 0.7 + seed / 10),
      record('frozen', seed, 0.7 + (2 * seed) / 100),
      record('frozen', seed, 0.75, { equal: 'tokens' }),
    ]);
    const page = withRecords('# Evidence\n<!-- experiments -->old<!-- /experiments -->\nend', records);
    assert.ok(page.startsWith('# Evidence\n') && page.endsWith('\nend') && !page.includes('old'));
    assert.match(page, /### At equal updates[^#]*\| \*\*method\*\* \| 3 \| 81\.0 % ± 2\.5 \|/);
    assert.match(page, /\| frozen \| 3 \| 72\.0 % ± 5\.0 \| method \| −9\.0 ± 2\.5 \| 0\.004 \|/);
    const lone = withRecords('<!-- experiments --><!-- /experiments -->', [record('simultaneous', 0, 0.7)]);
    assert.match(lone, /\| simultaneous \| 1 \| 70\.0 % \| alternating \| – \| – \|/);
    assert.match(page, /\| simultaneous \| 3 \| 80\.0 % ± 24\.8 \| alternating \| \+20\.0 ± 24\.8 \| 0\.074 \|/);
    assert.match(page, /### At equal tokens[^#]*\| frozen \| 3 \| 75\.0 % ± 0\.0 \|/);
    assert.match(page, /### Seeds of the method[^#]*\| 2 \| 82\.0 % \| 50\.0 % → 82\.0 % \| 40\.0 % → 60\.0 % \|/);
    assert.ok(!page.includes('Family `tiny`'));
    assert.throws(() => withRecords('# Evidence', records), /has no <!-- experiments -->/);
  });

  it('have a record for every figure in the text', () => {
    const page = 'By 7.7 %\n± 1.9, and 0.5 × 41.2 (± 20).\n<!-- a --> | −7.7 % ± 1.9 | -41.2 ± 3.0 | <!-- /a -->';
    assert.deepEqual(unfounded(page, [page]), ['0.5']);
    assert.deepEqual(unfounded('7.7 ± 3.0, 7.8 and 12.75', [page]), ['7.7 ± 3.0', '7.8']);
    const pages = ['evidence.md', 'adversary.md'].map((name) => readFileSync(join(ROOT, 'docs', name), 'utf8'));
    for (const text of pages) assert.deepEqual(unfounded(text, pages), []);
  });

  it('agree with docs/evidence.md', () => {
    const page = readFileSync(join(ROOT, 'docs', 'evidence.md'), 'utf8');
    assert.equal(withRecords(page, readRecords(recordsPath())), page);
  });
});
