// Tests the errors of rows that are not valid.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Trajectory } from '../../../core/schema/trajectory.js';
import { tokensFault, trajectoryFault } from '../../../ml/engine/validation.js';

const limits = { vocabSize: 10, contextLength: 5 };
const row: Trajectory = { tokens: [1, 2, 3], mask: [0, 1, 1], oldLogprobs: [0, -1, -2], advantage: 0 };

describe('rows of tokens', () => {
  it('are valid if their tokens are in the vocabulary and fit the context', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -2, max: 12 }), { maxLength: 7 }), (tokens) => {
        const good = tokens.length > 0 && tokens.length <= 5 && tokens.every((id) => id >= 0 && id < 10);
        assert.equal(tokensFault(tokens, limits) === undefined, good);
      }),
    );
  });

  it('name the invalid token and its position', () => {
    assert.equal(tokensFault([1, 10], limits), 'token 10 is outside 0..9, the vocabulary (tokens[1])');
    assert.match(tokensFault([0.5], limits)!, /token 0\.5 is outside/);
    assert.equal(tokensFault([], limits), 'there are no tokens');
    assert.equal(tokensFault([1, 1, 1, 1, 1, 1], limits), "6 tokens are more than the model's context of 5");
  });

  it('require arrays as long as tokens in a trajectory, with finite numbers except in entry 0', () => {
    assert.equal(trajectoryFault(row, limits), undefined);
    assert.equal(trajectoryFault({ ...row, oldLogprobs: [Number.NaN, -1, -2] }, limits), undefined);
    const bad = { ...row, oldLogprobs: [0, -1, Number.NaN] };
    assert.equal(trajectoryFault(bad, limits), 'oldLogprobs[2] is NaN, a finite number is needed');
    assert.match(trajectoryFault({ ...row, advantage: Number.NaN }, limits)!, /^advantage is NaN/);
    for (const name of ['mask', 'oldLogprobs', 'advantages', 'referenceLogprobs'] as const) {
      assert.equal(trajectoryFault({ ...row, [name]: [0, 1] }, limits), `${name} has 2 entries, tokens has 3`);
      assert.match(
        trajectoryFault({ ...row, [name]: [0, Infinity, 1] }, limits)!,
        new RegExp(`^${name}\\[1\\] is Infin`),
      );
    }
  });
});
