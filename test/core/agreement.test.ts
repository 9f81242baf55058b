import assert from 'node:assert/strict';
import { type Ballot, takeVote } from '../../core/rewards/agreement.js';
import type { CallResult } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';

const FAILED: CallResult = { kind: 'error', message: 'ValueError' };
const said = (answers: (Value | undefined)[]): CallResult[] =>
  answers.map((value) => (value === undefined ? FAILED : { kind: 'value', value }));
const ballot = (given: (Value | undefined)[], inputs: (Value | undefined)[]): Ballot => ({
  given: said(given),
  inputs: said(inputs),
});
/** Tests that expect 1, 2, … */
const tests = (count: number) => Array.from({ length: count }, (_, i) => ({ args: [i + 1], expected: i + 1 }));
const vote = (ballots: Ballot[], given: number) => takeVote(ballots, tests(given), 'lenient');

describe('the vote of sampled programs', () => {
  it('takes the answer of more than half of the programs', () => {
    const { answers, agreement } = vote([ballot([1], [5, 5]), ballot([1], [5, 6]), ballot([1], [9, 7])], 1);
    assert.deepEqual(answers, [5, undefined]);
    assert.deepEqual(
      agreement,
      [2 / 2.5, 1 / 2.5],
      'the third program differs on the one input that counts: half its weight',
    );
  });

  it('decides nothing if two programs disagree with two others', () => {
    const ballots = [5, 5, 6, 6].map((answer) => ballot([1], [answer]));
    assert.deepEqual(vote(ballots, 1).answers, [undefined]);
  });

  it('drops an input that every program answers alike, and an input on which most programs fail', () => {
    const ballots = [ballot([1], [5, undefined]), ballot([1], [5, undefined]), ballot([1], [5, 3])];
    assert.deepEqual(vote(ballots, 1).answers, [undefined, undefined]);
  });

  it('gives more weight to programs that pass more of the given tests', () => {
    const wrong = ballot([0, 0], [7]);
    assert.deepEqual(vote([ballot([1, 2], [5]), wrong, wrong], 2).answers, [5]);
    assert.deepEqual(vote([wrong, wrong], 2).answers, [undefined], 'no program passes anything');
  });

  it('also gives weight for generated tests that count', () => {
    // the first three inputs count; on the fourth, the two programs that disagreed before have less weight
    const ballots = [
      ballot([1], [5, 5, 5, 8]),
      ballot([1], [5, 5, 5, 8]),
      ballot([1], [5, 5, 0, 9]),
      ballot([1], [0, 0, 5, 9]),
    ];
    assert.deepEqual(vote(ballots, 1).answers, [5, 5, 5, 8]);
  });

  it('requires more agreement than a wrong vote on a given test had', () => {
    // three of four programs pass the first two tests and agree on a wrong answer to the third
    const ballots = [
      ballot([1, 2, 0], [5, 6]),
      ballot([1, 2, 0], [5, 6]),
      ballot([1, 2, 0], [5, 6]),
      ballot([1, 2, 3], [4, 6]),
    ];
    const { answers, given } = vote(ballots, 3);
    assert.deepEqual(given, { votes: 3, wrong: 1 });
    assert.deepEqual(answers, [undefined, undefined]);
    const calibrated = vote(
      ballots.map((own, i) => (i < 2 ? own : { ...own, given: said([1, 2, 3]) })),
      3,
    );
    assert.deepEqual(calibrated.given, { votes: 3, wrong: 1 }, 'a tie is no right vote');
    assert.deepEqual(calibrated.answers, [5, undefined]);
  });

  it('compares answers by the comparison of the problem', () => {
    const near = [{ f: '1.0' }, { f: '1.0000000001' }, { f: '2.0' }].map((answer) => ballot([], [answer]));
    assert.deepEqual(takeVote(near, [], { mode: 'lenient', absolute: 1e-6 }).answers, [{ f: '1.0' }]);
    assert.deepEqual(takeVote(near, [], 'strict').answers, [undefined]);
  });

  it('has no answer if there are no programs', () => {
    assert.deepEqual(vote([], 2), { answers: [], agreement: [], given: { votes: 2, wrong: 2 } });
  });
});
