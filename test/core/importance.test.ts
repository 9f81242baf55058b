import assert from 'node:assert/strict';
import { RandomStream } from '../../core/base/random.js';
import { importanceWeight, MAX_WEIGHT, measureMismatch, weightedAdvantages } from '../../core/rl/importance.js';
import { trainedRows } from '../../core/rl/trajectories.js';

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);

describe('importance weights', () => {
  it('equal the quotient of the probabilities, limited from above', () => {
    const table: [engine: number, server: number, weight: number][] = [
      [0.2, 0.2, 1],
      [0.1, 0.2, 0.5],
      [0.3, 0.2, 1.5],
      [0.4, 0.2, 2],
      [0.8, 0.2, 2], // truncated
      [1e-9, 0.5, 2e-9],
    ];
    for (const [engine, server, weight] of table) near(importanceWeight(Math.log(engine), Math.log(server)), weight);
  });

  it('multiply the advantages of trained tokens', () => {
    const tokens = { engine_T: [0, -1, -2, -1], server_T: [0, -1, -1, -5], mask_T: [0, 1, 1, 1] };
    const weighted = weightedAdvantages([7, 0.5, 0.5, -0.5], tokens);
    for (const [t, expected] of [7, 0.5, 0.5 / Math.E, -1].entries()) near(weighted[t]!, expected);
  });

  it('have the importance ratio as mean, and lie between 0 and the limit', () => {
    const random = new RandomStream('weights');
    for (let i = 0; i < 500; i++) {
      const [engine, server] = [-20 * random.uniform(), -20 * random.uniform()];
      const weight = importanceWeight(engine, server);
      assert.ok(weight >= 0 && weight <= MAX_WEIGHT);
      if (engine - server <= Math.log(MAX_WEIGHT)) near(weight / Math.exp(engine - server), 1);
    }
    // E over the server's samples of π_engine / π_server · f = E over the engine's samples of f
    const [engine, server, f] = [
      [0.5, 0.3, 0.2],
      [0.3, 0.3, 0.4],
      [1, -2, 5],
    ];
    const weights = engine.map((p, i) => importanceWeight(Math.log(p), Math.log(server[i]!)));
    const mean = (p: number[], values: number[]): number => p.reduce((sum, share, i) => sum + share * values[i]!, 0);
    near(
      mean(
        server,
        f.map((value, i) => value * weights[i]!),
      ),
      mean(engine, f),
    );
  });
});

describe('measureMismatch', () => {
  it('is the mean over trained tokens', () => {
    const rows = [
      { engine_T: [0, Math.log(0.5), -1], server_T: [0, Math.log(0.2), -9], mask_T: [0, 1, 0] },
      { engine_T: [Math.log(0.1)], server_T: [Math.log(0.4)], mask_T: [1] },
      { engine_T: [-1], server_T: [-1], mask_T: [1] },
    ];
    const { rolloutKl, rolloutDifference, truncatedFraction } = measureMismatch(rows);
    near(rolloutKl, (2.5 - 1 - Math.log(2.5) + (0.25 - 1 + Math.log(4))) / 3);
    near(rolloutDifference, (Math.log(2.5) + Math.log(4)) / 3);
    near(truncatedFraction, 1 / 3);
  });

  it('is 0 if both probabilities agree, and without tokens', () => {
    const none = { rolloutKl: 0, rolloutDifference: 0, truncatedFraction: 0 };
    assert.deepEqual(measureMismatch([{ engine_T: [-1, -2], server_T: [-1, -2], mask_T: [1, 1] }]), none);
    assert.deepEqual(measureMismatch([]), none);
  });

  it('is never negative', () => {
    const random = new RandomStream('mismatch');
    for (let i = 0; i < 500; i++) {
      const logprobs = (): number[] => Array.from({ length: 3 }, () => -10 * random.uniform());
      const { rolloutKl } = measureMismatch([{ engine_T: logprobs(), server_T: logprobs(), mask_T: [1, 1, 1] }]);
      assert.ok(rolloutKl >= 0);
    }
  });
});

describe('trainedRows', () => {
  it('aligns the log-probs of the server with the tokens of all turns', () => {
    const turns = [
      { stage: 1, promptTokens: [1, 2], answerTokens: [3, 4], logprobs: [-0.3, -0.4] },
      { stage: 5, promptTokens: [5], answerTokens: [6], logprobs: [-0.6] },
    ] as const;
    const own = turns.map((turn) => ({
      ...turn,
      promptTokens: [...turn.promptTokens],
      answerTokens: [...turn.answerTokens],
      logprobs: [...turn.logprobs],
    }));
    const [row] = trainedRows(own, 1, 'suffix');
    assert.deepEqual(row, {
      tokens: [1, 2, 3, 4, 5, 6],
      mask: [0, 0, 1, 1, 0, 1],
      rolloutLogprobs: [0, 0, -0.3, -0.4, 0, -0.6],
    });
    assert.deepEqual(trainedRows(own, 1, 'stage')[0]!.rolloutLogprobs, [0, 0, -0.3, -0.4]);
  });
});
