import assert from 'node:assert/strict';
import { resolveConfig } from '../../core/config/presets.js';
import { countAnswersOf, recordedWarnings, sharesOf, warningsOf, warningText } from '../../core/run/answerShares.js';
import type { Role } from '../../core/schema/chain.js';
import { pluck } from '../support/pluck.js';
import { sampleStep } from '../support/sample.js';

const config = resolveConfig({ preset: 'tiny', sampling: { maxNewTokens: 4, maxTestTokens: 6 } });

const whole = { answerTokens: [1, 2], text: 'ab', truncated: false };
const atLimit = (limit: number) => ({ answerTokens: Array(limit).fill(1), text: 'abcd', truncated: true });
const atContext = { answerTokens: [1], text: 'a', truncated: true };
const unfit = { answerTokens: [], text: '', truncated: true };
const empty = { answerTokens: [0], text: ' \n', truncated: false };
const thinking = { ...atLimit(4), text: '' }; // was cut before the thinking ended

const warned = (role: Role, answers: Parameters<typeof countAnswersOf>[1], own = config) =>
  warningsOf(role, countAnswersOf(role, answers, own), own);

describe('the shares of cut and empty answers', () => {
  it('count cut answers, empty answers and prompts that do not fit', () => {
    const counts = countAnswersOf('generator', [whole, atLimit(4), atContext, unfit, empty, thinking], config);
    assert.deepEqual(counts, { answers: 6, cut: 3, cutAtLimit: 2, empty: 2, unfit: 1 });
    assert.deepEqual(sharesOf(counts), { answers: 6, cutRate: 1 / 2, emptyRate: 1 / 3, unfitRate: 1 / 6 });
  });

  it('name the limit of the role if the limit cuts more than a fifth of its answers', () => {
    const [generator] = warned('generator', [atLimit(4), whole, whole]);
    assert.equal(generator!.field, 'sampling.maxNewTokens');
    assert.match(
      generator!.message,
      /^33 % of the generator's answers are cut off after 4 tokens: raise sampling\.maxNewTokens/,
    );
    const [discriminator] = warned('discriminator', [atLimit(6)]);
    assert.equal(discriminator!.field, 'sampling.maxTestTokens');
    assert.match(discriminator!.message, /^100 % of the discriminator's answers are cut off after 6 tokens/);
    assert.deepEqual(warned('generator', [atLimit(4), whole, whole, whole, whole]), [], 'a fifth is not more');
    assert.deepEqual(warned('generator', []), []);
  });

  it('name the model if its context ends, if prompts do not fit, or if answers are empty', () => {
    const kinds = (answers: (typeof whole)[], own = config) =>
      warned('discriminator', answers, own).map(({ kind, field }) => [kind, field]);
    assert.deepEqual(kinds([atContext, whole]), [['context', 'model']]);
    assert.deepEqual(kinds([unfit, whole]), [['unfit', 'model']]);
    assert.deepEqual(kinds([empty, whole]), [['empty', 'model']]);
    assert.deepEqual(kinds([atContext, unfit]), [
      ['context', 'model'],
      ['unfit', 'model'],
    ]);
    const other = resolveConfig({ preset: 'tiny', discriminator: { model: 'other' } });
    assert.deepEqual(kinds([unfit], other), [['unfit', 'discriminator.model']]);
  });

  it('do not count an answer as empty if it was cut while the model was thinking', () => {
    assert.deepEqual(pluck(warned('generator', [thinking, thinking]), 'kind'), ['cut']);
  });
});

describe('the recorded warnings', () => {
  it('are the latest of each topic, with the number of their steps', () => {
    const warnings = (share: number) =>
      warned('generator', [...Array(share).fill(atLimit(4)), ...Array(10 - share).fill(whole)]);
    const steps = [
      { ...sampleStep(3) },
      { ...sampleStep(2), warnings: warnings(5) },
      { ...sampleStep(1), warnings: [...warnings(10), ...warned('discriminator', [unfit])] },
    ];
    const found = recordedWarnings(steps);
    assert.deepEqual(pluck(found, 'role', 'kind', 'steps', 'of'), [
      ['generator', 'cut', 2, 3],
      ['discriminator', 'unfit', 1, 3],
    ]);
    assert.match(warningText(found[0]!), /^50 % of the generator's answers.* \(2 of 3 steps\)$/);
    assert.deepEqual(recordedWarnings([sampleStep(1)]), []);
  });
});
