import assert from 'node:assert/strict';
import { applyConfigPatch } from '../../core/config/liveConfig.js';
import { resolveConfig } from '../../core/config/presets.js';
import { firstDraw, isLive, isTrained, nextDraw, refills } from '../../core/rewards/liveGroups.js';
import { runIdentity } from '../../core/schema/config.js';
import type { Verdict } from '../../core/schema/execution.js';

const right: Verdict[] = ['pass', 'pass'];
const wrong: Verdict[] = ['pass', 'fail'];
const worse: Verdict[] = ['error', 'fail'];
const group = (...verdicts: Verdict[][]) => ({ verdicts });

const live = group(right, wrong);
const allRight = group(right, right);
const allWrong = group(wrong, worse);

const configOf = (refill: number | undefined, problems = 3) =>
  resolveConfig({ batch: { generator: { problems }, ...(refill !== undefined && { refill }) } });

describe('a live group', () => {
  it('has programs that pass all their tests, and programs that do not', () => {
    assert.equal(isLive(live), true);
    assert.equal(isLive(allRight), false);
    assert.equal(isLive(group()), false);
    assert.equal(isLive(group([], [])), false, 'without a test, no program is right');
  });

  it('is determined by outcomes, even if shaped rewards of wrong programs differ', () => {
    assert.equal(isLive(allWrong), false);
    assert.equal(isTrained(allWrong, 'generator', configOf(1)), false);
    assert.equal(isTrained(allWrong, 'generator', configOf(undefined)), true, 'without refill, rewards decide');
    assert.equal(isTrained(allWrong, 'discriminator', configOf(1)), true);
  });
});

describe('a refilled batch', () => {
  it('draws as many further problems as live groups are missing', () => {
    assert.deepEqual(nextDraw([live, allRight, allWrong], 1, 100, configOf(1)), { from: 3, count: 2 });
    assert.deepEqual(nextDraw([live, allRight, allWrong, live, allRight], 2, 100, configOf(2)), { from: 5, count: 1 });
    assert.equal(nextDraw([live, live, live], 1, 100, configOf(1)), undefined);
  });

  it('stops after its limit of rounds, or when no problem is left', () => {
    const dead = [allRight, allRight, allRight];
    assert.equal(nextDraw([...dead, ...dead], 2, 100, configOf(1)), undefined);
    assert.deepEqual(nextDraw(dead, 1, 4, configOf(1)), { from: 3, count: 1 });
    assert.equal(nextDraw(dead, 1, 3, configOf(1)), undefined);
    assert.equal(nextDraw(dead, 1, 100, configOf(0)), undefined);
  });

  it('is measured by its first draw', () => {
    assert.deepEqual(firstDraw([1, 2, 3, 4], 'generator', configOf(1)), [1, 2, 3]);
    assert.deepEqual(firstDraw([1, 2, 3, 4], 'generator', configOf(undefined)), [1, 2, 3, 4]);
    assert.deepEqual(firstDraw([1, 2, 3, 4], 'discriminator', configOf(1)), [1, 2, 3, 4]);
  });
});

describe('the field batch.refill', () => {
  it('belongs to the identity of a run only if it is above 0', () => {
    const without = runIdentity(configOf(undefined));
    assert.ok(!('refill' in without.batch), 'absent, so digests of other runs are as before');
    assert.deepEqual(runIdentity(configOf(0)), without);
    assert.equal(runIdentity(configOf(2)).batch.refill, 2);
  });

  it('can change during a run, even to 0', () => {
    const on = applyConfigPatch(configOf(undefined), { batch: { refill: 2 } });
    assert.equal(refills(on), true);
    assert.equal(refills(applyConfigPatch(on, { batch: { refill: 0 } })), false);
  });

  it('is at most 10', () => {
    assert.throws(() => resolveConfig({ batch: { refill: 11 } }), /batch\.refill/);
  });
});
