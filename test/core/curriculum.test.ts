import assert from 'node:assert/strict';
import { RandomStream } from '../../core/random.js';
import { type SuccessRates, sampleByDifficulty, withOutcomes } from '../../core/rl/curriculum.js';

const POOLS = { easy: 100, half: 100, hard: 300 };
const PROBLEMS = Object.entries(POOLS).flatMap(([difficulty, count]) =>
  Array.from({ length: count }, (_, i) => ({ id: `${difficulty}-${i}`, difficulty })),
);

/** How many of many problems have each difficulty. */
function shares(rates: SuccessRates): Record<string, number> {
  const drawn = Array.from({ length: 300 }, (_, i) =>
    sampleByDifficulty(PROBLEMS, 10, rates, new RandomStream('curriculum', i)),
  ).flat();
  const share = (name: string): number => drawn.filter(({ difficulty }) => difficulty === name).length / drawn.length;
  return Object.fromEntries(Object.keys(POOLS).map((name) => [name, share(name)]));
}

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 0.03, `${actual} is not about ${expected}`);

describe('curriculum', () => {
  it('draws difficulties in proportion to 4r(1 − r), whatever the number of their problems', () => {
    const { easy, half, hard } = shares({ easy: 0.9, half: 0.5, hard: 0 });
    const sum = 0.36 + 1 + 0.1; // a difficulty has at least 0.1
    near(easy!, 0.36 / sum);
    near(half!, 1 / sum);
    near(hard!, 0.1 / sum);
  });

  it('gives difficulties that were not tried the same share', () => {
    for (const share of Object.values(shares({}))) near(share, 1 / 3);
  });

  it('draws distinct problems, all of them if more are asked for, and the same for the same key', () => {
    const draw = (count: number) =>
      sampleByDifficulty(PROBLEMS, count, { easy: 1, hard: 0 }, new RandomStream('x')).map(({ id }) => id);
    assert.equal(new Set(draw(400)).size, 400);
    assert.equal(draw(1000).length, PROBLEMS.length);
    assert.deepEqual(draw(20), draw(20));
  });

  it('keeps a moving average of the success rate of each difficulty', () => {
    const first = withOutcomes({}, [
      { difficulty: 'easy', solved: 1 },
      { difficulty: 'easy', solved: 0.5 },
    ]);
    assert.deepEqual(first, { easy: 0.75 });
    const second = withOutcomes(first, [
      { difficulty: 'easy', solved: 0.25 },
      { difficulty: 'hard', solved: 0 },
    ]);
    assert.deepEqual(second, { easy: 0.75 + 0.3 * (0.25 - 0.75), hard: 0 });
    assert.deepEqual(first, { easy: 0.75 });
  });
});
