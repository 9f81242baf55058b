import assert from 'node:assert/strict';
import { addUsage, exhaustedBudget, NO_USAGE } from '../../core/run/budget.js';

describe('exhaustedBudget', () => {
  const budget = { tokens: 100, seconds: null };
  const used = { tokens: 60, seconds: 1e9, executions: 4 };

  it('is undefined if the next step fits', () => {
    assert.equal(exhaustedBudget(budget, used, { tokens: 40, seconds: 5, executions: 6 }), undefined);
  });

  it('names the budget that the next step would exceed', () => {
    assert.equal(
      exhaustedBudget(budget, used, { tokens: 41, seconds: 5, executions: 6 }),
      'the budget of 100 tokens (60 used)',
    );
    const slow = exhaustedBudget({ tokens: null, seconds: 1e9 + 4 }, used, { tokens: 1, seconds: 5, executions: 7 });
    assert.equal(slow, 'the budget of 1000000004 seconds (1000000000 used)');
  });

  it('names a budget that is used up even if the cost of the next step is unknown', () => {
    assert.match(exhaustedBudget({ ...budget, tokens: 60 }, used, NO_USAGE)!, /60 tokens/);
  });
});

describe('addUsage', () => {
  it('adds each kind of usage', () => {
    const sum = addUsage({ tokens: 60, seconds: 2, executions: 4 }, { tokens: 1, seconds: 1, executions: 1 });
    assert.deepEqual(sum, { tokens: 61, seconds: 3, executions: 5 });
  });
});
