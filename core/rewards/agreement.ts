// Finds expected values without a reference: the answers on which a problem's sampled programs agree. Agreement counts only if
// it exceeds the largest agreement on a wrong answer to a given test, whose right answer is known. Programs and tests have
// weights: a program by the tests that it passes, a test by the programs that agree on it (like the pass counts of CoSPlay,
// arXiv 2605.23491).
import { equalValues, judge } from '../comparison/compare.js';
import type { CallResult } from '../schema/execution.js';
import type { Problem, TestCase } from '../schema/problem.js';
import type { Value } from '../schema/value.js';

/** The answers of one sampled program to the given tests and to the inputs of generated tests. */
export interface Ballot {
  given: readonly CallResult[];
  inputs: readonly CallResult[];
}

export interface Vote {
  /** By input: the answer that counts, if there is one. */
  answers: (Value | undefined)[];
  /** By input: the weight of the programs that agree on the most common answer, 0..1. */
  agreement: number[];
  /** The votes on given tests. A program's answer to a test does not count for its weight in the vote on that test. */
  given: { votes: number; wrong: number };
}

const MAJORITY = 0.5;

/** @param given the given tests that `ballots[].given` answers */
export function takeVote(
  ballots: readonly Ballot[],
  given: readonly TestCase[],
  comparison: Problem['comparison'],
): Vote {
  const passes = ballots.map((own) =>
    given.map(({ expected }, g) => judge(own.given[g]!, expected, comparison) === 'pass'),
  );
  const winnerOf = (calls: CallResult[], weights: number[]): Winner => countVotes(calls, weights, comparison);
  const known = given.map(({ expected }, g) => {
    const weights = passes.map((own) => shareOf(own.filter((_, other) => other !== g)));
    const { answer, agreement } = winnerOf(
      ballots.map((own) => own.given[g]!),
      weights,
    );
    return { agreement, isWrong: answer === undefined || !equalValues(answer, expected, comparison) };
  });
  const wrong = known.filter(({ isWrong }) => isWrong);
  const bar = Math.max(MAJORITY, ...wrong.map(({ agreement }) => agreement));
  const inputs = ballots[0]?.inputs.map((_, i) => ballots.map((own) => own.inputs[i]!)) ?? [];
  const first = inputs.map((calls) => winnerOf(calls, passes.map(shareOf)));
  const accepted = first.map(({ agreement }) => agreement > bar);
  const weights = passes.map((own, p) =>
    shareOf([...own, ...first.flatMap(({ agrees }, i) => (accepted[i] ? [agrees[p]!] : []))]),
  );
  const final = inputs.map((calls) => winnerOf(calls, weights));
  return {
    // a test that every program passes, or that no program passes, does not distinguish the programs
    answers: final.map(({ answer, agreement, agrees }) =>
      agreement > bar && agrees.includes(false) ? answer : undefined,
    ),
    agreement: final.map(({ agreement }) => agreement),
    given: { votes: known.length, wrong: wrong.length },
  };
}

interface Winner {
  answer?: Value; // absent: a failure has the most weight, or no program has any
  agreement: number;
  agrees: boolean[]; // whether each program gives this answer
}

/** Finds the answer with the most weight. All failures of one kind count as one answer, which gives no test. */
function countVotes(
  calls: readonly CallResult[],
  weights: readonly number[],
  comparison: Problem['comparison'],
): Winner {
  const groups: { first: CallResult; members: number[]; weight: number }[] = [];
  for (const [p, call] of calls.entries()) {
    const known = groups.find(({ first }) => isSame(first, call, comparison));
    const group = known ?? { first: call, members: [], weight: 0 };
    if (!known) groups.push(group);
    group.members.push(p);
    group.weight += weights[p]!;
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const [best] = groups.toSorted((one, other) => other.weight - one.weight); // if groups are equal, the first one wins
  if (best === undefined || total === 0) return { agreement: 0, agrees: calls.map(() => false) };
  return {
    ...(best.first.kind === 'value' && { answer: best.first.value }),
    agreement: best.weight / total,
    agrees: calls.map((_, p) => best.members.includes(p)),
  };
}

function isSame(a: CallResult, b: CallResult, comparison: Problem['comparison']): boolean {
  if (a.kind !== 'value' || b.kind !== 'value') return a.kind === b.kind;
  return equalValues(a.value, b.value, comparison);
}

/** The share of passed tests; 1 if there is no test. */
const shareOf = (passed: readonly boolean[]): number =>
  passed.length === 0 ? 1 : passed.filter(Boolean).length / passed.length;
