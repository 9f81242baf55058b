import assert from 'node:assert/strict';
import fc from 'fast-check';
import { countsOf, programReason, testReason } from '../../core/rewards/explain.js';
import { countOutcomes, programOutcome, turnOutcome } from '../../core/rewards/outcomes.js';
import { REWARD_RULES } from '../../core/rewards/rewards.js';
import {
  type JudgedTest,
  type JudgedTurn,
  passShare,
  rewardOf,
  type Term,
  term,
  termsText,
} from '../../core/rewards/rule.js';
import type { Verdict } from '../../core/schema/execution.js';

const close = (actual: readonly number[], expected: readonly number[]): void => {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, i) => {
    assert.ok(Math.abs(value - expected[i]!) < 1e-12, `${actual} against ${expected}`);
  });
};

/** Marks tests: 'v' is valid, 'c' valid and catching, 'i' invalid. An input is the place of the test unless it is named. */
const turn = (tests: string, lost = 0, inputs: string[] = []): JudgedTurn => ({
  tests: [...tests].map(
    (kind, i): JudgedTest => ({ inputs: inputs[i] ?? `${tests}${i}`, valid: kind !== 'i', caught: kind === 'c' }),
  ),
  lost,
});

/** The rewards of a scheme as numbers. */
function rewardsOf(scheme: keyof typeof REWARD_RULES) {
  const { generatorTerms, discriminatorTerms } = REWARD_RULES[scheme];
  return {
    ...REWARD_RULES[scheme],
    generator: (...given: Parameters<typeof generatorTerms>) => rewardOf(generatorTerms(...given)),
    discriminator: (group: JudgedTurn[]) => discriminatorTerms(group).map(rewardOf),
  };
}

/** The value of a sum as people read it. */
const sumOfText = (text: string): number =>
  [...text.matchAll(/(−|\+)? ?(\d[\d.]*)(?: × (\d[\d.]*))?/g)].reduce(
    (sum, [, sign, weight, share = '1']) => sum + (sign === '−' ? -1 : 1) * Number(weight) * Number(share),
    0,
  );

describe('the reward scheme shifted', () => {
  const { generator, discriminator } = rewardsOf('shifted');

  it('gives the generator its pass rate − 0.5', () => {
    assert.equal(generator(['pass', 'pass', 'fail', 'pass']), 0.25);
    assert.equal(generator(['pass']), 0.5);
    assert.equal(generator(['error', 'timeout', 'memory', 'output']), -0.5);
  });

  it('gives the generator 0 without tests', () => assert.equal(generator([]), 0));

  it('gives the discriminator 0.4 valid − 0.6 invalid + 0.6 caught, as fractions of all its tests', () => {
    close(discriminator([turn('vv')]), [0.4]);
    close(discriminator([turn('cc')]), [1]);
    close(discriminator([turn('ii')]), [-0.6]);
    close(discriminator([turn('cvii')]), [0.4 * 0.5 - 0.6 * 0.5 + 0.6 * 0.25]);
    close(discriminator([turn('cv', 2)]), [0.4 * 0.5 - 0.6 * 0.5 + 0.6 * 0.25]);
  });

  it('gives the discriminator −1 without a readable test', () => {
    close(discriminator([turn(''), turn('', 2), turn('ii')]), [-1, -1, -0.6]);
  });

  it('divides the credit of a valid test by the number of tests with its inputs', () => {
    // 'a' occurs three times, once in an invalid test; 'b' occurs once; 'c' occurs twice in one sample
    const group = [turn('vv', 0, ['a', 'b']), turn('vi', 0, ['a', 'a']), turn('cc', 0, ['c', 'c'])];
    close(discriminator(group), [
      0.4 * ((1 / 3 + 1) / 2),
      0.4 * (1 / 3 / 2) - 0.6 * 0.5,
      0.4 * ((0.5 + 0.5) / 2) + 0.6,
    ]);
  });

  it('rewards a sample with unique inputs more than one with repeated inputs', () => {
    const rewards = discriminator([turn('v', 0, ['[]']), turn('v', 0, ['[]']), turn('v', 0, ['[1]'])]);
    assert.ok(rewards[2]! > rewards[0]!);
    assert.equal(rewards[0], rewards[1]);
  });
});

describe('the reward scheme all-tests', () => {
  const { generator, discriminator } = rewardsOf('all-tests');

  it('rewards a program only if it passes every test', () => {
    assert.equal(generator(['pass', 'pass']), 0.5);
    assert.equal(generator(['pass', 'fail']), -0.5);
    assert.equal(generator(['timeout']), -0.5);
    assert.equal(generator([]), 0);
  });

  it('rewards the discriminator like `shifted`', () => {
    const group = [turn('cv', 1), turn('i'), turn('')];
    assert.deepEqual(discriminator(group), rewardsOf('shifted').discriminator(group));
  });
});

describe('the reward scheme code-a1', () => {
  const { generator, discriminator } = rewardsOf('code-a1');
  const against = (one: JudgedTurn, parses: boolean, bookFailRate?: number): JudgedTurn => ({
    ...one,
    target: { parses, bookFailRate },
  });

  it('gives the generator the mean of its pass rates on the suite and on the mistake book', () => {
    assert.equal(generator(['pass', 'fail']), 0.5);
    assert.equal(generator(['pass', 'fail'], ['pass', 'pass', 'pass', 'fail']), (0.5 + 0.75) / 2);
    assert.equal(generator([], ['pass', 'fail', 'fail', 'fail']), 0.25);
    assert.equal(generator([]), 0);
  });

  it('gives the discriminator half its share of distinct valid tests plus half its share of failed tests', () => {
    close(discriminator([turn('vv'), turn('cc'), turn('')]), [0.5, 1, 0]);
    close(discriminator([turn('cvvi')]), [0.5 * (3 / 4) + 0.5 * (1 / 4)]);
    close(discriminator([turn('cc', 2)]), [0.5 * (2 / 4) + 0.5 * (2 / 4)]);
  });

  it('counts several valid tests with the same inputs once', () => {
    close(discriminator([turn('vvv', 0, ['a', 'a', 'b'])]), [0.5 * (2 / 3)]);
  });

  it('compares failures with those in the mistake book', () => {
    const half = turn('cv'); // half of its tests fail
    close(discriminator([against(half, true, 0.5)]), [0.5 + 0.5 * ((0.5 - 0.5 + 1) / 2)]);
    close(discriminator([against(half, true, 1)]), [0.5 + 0.5 * ((0.5 - 1 + 1) / 2)]);
    close(discriminator([against(half, true, 0)]), [0.5 + 0.5 * ((0.5 - 0 + 1) / 2)]);
  });

  it('gives nothing for failures of a program that does not parse', () => {
    close(discriminator([against(turn('cc'), false), against(turn('cc'), false, 0.5)]), [0.5, 0.5]);
  });
});

describe('the reward scheme discrimination', () => {
  const { discriminator } = rewardsOf('discrimination');
  /** Valid tests that these programs fail. */
  const failed = (...programs: number[][]): JudgedTurn => ({
    tests: programs.map((failedBy, i) => ({ inputs: String(i), valid: true, caught: failedBy.includes(0), failedBy })),
    lost: 0,
  });

  it('shares the credit for a program among the turns that catch it', () => {
    // three programs are caught: 0 by two turns, 1 and 2 by one turn each
    close(discriminator([failed([0], [0, 1]), failed([0]), failed([2]), failed([])]), [
      0.1 + (0.9 * (1 / 2 + 1)) / 3,
      0.1 + (0.9 * (1 / 2)) / 3,
      0.1 + (0.9 * 1) / 3,
      0.1,
    ]);
  });

  it('pays little for validity, and nothing for a turn without a readable test', () => {
    close(discriminator([turn('vv'), turn('vi'), turn('ii'), turn('', 2), turn('')]), [0.1, 0.05, 0, 0, 0]);
  });
});

describe('every reward scheme', () => {
  const verdicts = fc.array(fc.constantFrom<Verdict>('pass', 'fail', 'error', 'timeout', 'memory', 'output'), {
    maxLength: 8,
  });
  const group = fc.array(
    fc.record({
      tests: fc.array(
        fc
          .record({ inputs: fc.constantFrom('a', 'b', 'c'), valid: fc.boolean(), caught: fc.boolean() })
          .map((test) => ({ ...test, caught: test.caught && test.valid })),
        { maxLength: 5 },
      ),
      lost: fc.nat({ max: 3 }),
    }),
    { maxLength: 6 },
  );
  for (const scheme of Object.keys(REWARD_RULES) as (keyof typeof REWARD_RULES)[]) {
    it(`${scheme}: rewards are in −1..1; one more passed test never lowers a reward, other samples' inputs never raise it`, () => {
      const rule = rewardsOf(scheme);
      const inRange = (reward: number): void => assert.ok(Math.abs(reward) <= 1, `${reward} is outside of −1..1`);
      fc.assert(
        fc.property(verdicts, group, (list, turns) => {
          const better = list.map((verdict, i) => (i === 0 ? 'pass' : verdict));
          const [before, after] = [rule.generator(list), rule.generator(better)];
          inRange(before);
          assert.ok(after >= before, `one more pass lowers the reward from ${before} to ${after}`);
          const together = rule.discriminator(turns);
          const alone = turns.map((own) => rule.discriminator([own])[0]!);
          assert.equal(alone.length, turns.length);
          alone.forEach((reward, i) => {
            inRange(reward);
            assert.ok(together[i]! <= reward + 1e-12, `other samples raise ${reward} to ${together[i]}`);
          });
        }),
      );
    });
  }

  for (const scheme of Object.keys(REWARD_RULES) as (keyof typeof REWARD_RULES)[]) {
    it(`${scheme}: writing nothing never pays more than one valid test`, () => {
      const rule = rewardsOf(scheme);
      const facts = fc.record({
        parses: fc.boolean(),
        bookFailRate: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      });
      fc.assert(
        fc.property(group, facts, fc.boolean(), (others, { parses, bookFailRate }, caught) => {
          const target = { parses, bookFailRate: bookFailRate ?? undefined };
          const nothing = { tests: [], lost: 2, target };
          const valid = { tests: [{ inputs: 'a', valid: true, caught }], lost: 1, target };
          const [silent, honest] = [nothing, valid].map((own) => rule.discriminator([own, ...others])[0]!);
          assert.ok(honest! >= silent!, `${honest} for a valid test, ${silent} for none`);
        }),
      );
    });
  }

  for (const scheme of Object.keys(REWARD_RULES) as (keyof typeof REWARD_RULES)[]) {
    it(`${scheme}: the terms of a reward add up to it, and so does their text`, () => {
      const rule = rewardsOf(scheme);
      const book = fc.array(fc.constantFrom<Verdict>('pass', 'fail'), { maxLength: 3 });
      const checkSum = (terms: Term[], reward: number): void => {
        assert.ok(terms.length > 0);
        close([terms.reduce((sum, { weight, share }) => sum + weight * share, 0)], [reward]);
        assert.ok(Math.abs(sumOfText(termsText(terms)) - reward) < 0.005, `${reward} = ${termsText(terms)}`);
      };
      fc.assert(
        fc.property(verdicts, group, book, (list, turns, known) => {
          checkSum(rule.generatorTerms(list, known), rule.generator(list, known));
          const rewards = rule.discriminator(turns);
          for (const [i, terms] of rule.discriminatorTerms(turns).entries()) checkSum(terms, rewards[i]!);
        }),
      );
    });
  }

  it('names the weight and the share of each term in the text', () => {
    const { generatorTerms, discriminatorTerms } = REWARD_RULES.shifted;
    const text = (own: JudgedTurn): string => termsText(discriminatorTerms([own])[0]!);
    assert.equal(text(turn('vi')), '0.4 × 0.5 valid − 0.6 × 0.5 invalid + 0.6 × 0 caught');
    assert.equal(text(turn('vvvvi')), '0.4 × 0.8 valid − 0.6 × 0.2 invalid + 0.6 × 0 caught');
    assert.equal(text(turn('vv')), '0.4 valid − 0.6 × 0 invalid + 0.6 × 0 caught');
    assert.equal(text(turn('')), '−1 no readable test');
    assert.equal(termsText(generatorTerms(['pass', 'fail'])), '0.5 passed − 0.5 shift');
    assert.equal(termsText(generatorTerms(['pass'])), '1 passed − 0.5 shift');
    assert.equal(termsText(generatorTerms([])), '0 no tests');
    const limited = [term('valid', 3)];
    assert.equal(rewardOf(limited), 1);
    assert.equal(termsText(limited), '3 valid, limited to −1 … 1');
  });

  it('says which tests made each term, also if equal inputs share the credit', () => {
    const { discriminatorTerms, generatorTerms } = REWARD_RULES.shifted;
    const valid = { inputs: '[1]', valid: true, caught: false };
    const reasonsOf = (turn: JudgedTurn): (string | undefined)[] =>
      discriminatorTerms([turn])[0]!.map((own) => testReason(own, countsOf(turn.tests, turn.lost)));
    assert.deepEqual(reasonsOf({ tests: [valid, valid], lost: 0 }), [
      'tests that agree with the reference: 2 of 2; equal inputs share their credit',
      'tests that do not: none of 2',
      'tests that agree and fail the program: none of 2',
    ]);
    assert.deepEqual(reasonsOf({ tests: [{ ...valid, caught: true }], lost: 1 }), [
      'tests that agree with the reference: 1 of 2',
      'tests that do not: 1 of 2',
      'tests that agree and fail the program: 1 of 2',
    ]);
    assert.equal(countsOf([{ valid: false, caught: true }], 0).caught, 0, 'a corrected test is not valid');
    assert.deepEqual(generatorTerms(['pass', 'fail']).map(programReason), [
      '50 % of its tests pass',
      'every program pays it',
    ]);
  });

  it('counts only passes in passShare', () => assert.equal(passShare(['pass', 'fail', 'timeout', 'pass']), 0.5));
});

describe('the outcomes of samples', () => {
  const program = { empty: false };
  it('explain the reward of a program', () => {
    assert.equal(programOutcome({ empty: true }, ['pass']), 'empty');
    assert.equal(programOutcome({ empty: false, unparsed: true }, ['error']), 'unparsed');
    assert.equal(programOutcome(program, []), 'untested');
    assert.equal(programOutcome(program, ['pass', 'pass']), 'passed');
    assert.equal(programOutcome(program, ['pass', 'error']), 'failed');
    assert.equal(programOutcome(program, ['fail', 'timeout']), 'timeout');
  });

  it('explain the reward of a discriminator turn', () => {
    assert.equal(turnOutcome(turn('')), 'empty');
    assert.equal(turnOutcome(turn('ii')), 'invalid');
    assert.equal(turnOutcome(turn('vi')), 'valid');
    assert.equal(turnOutcome(turn('vc')), 'caught');
  });

  it('are counted by kind', () => {
    assert.deepEqual(countOutcomes(['passed', 'failed', 'passed']), { passed: 2, failed: 1 });
  });
});
