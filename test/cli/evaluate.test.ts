// The problems that `gauntlet evaluate` measures by default.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { heldOut } from '../../cli/commands/evaluate.js';
import { samplesOf } from '../../cli/export/samples.js';
import { resolveConfig } from '../../core/config/presets.js';
import { runIdentity } from '../../core/schema/config.js';
import { addProblem, memoryDoubles } from '../support/doubles.js';

describe('the problems of an evaluation', () => {
  const trainedOn = resolve('own.jsonl');

  it('are those of the test split of the file that the run trained on, however its path is written', () => {
    const expected = { source: trainedOn, split: 'test' as const };
    for (const named of ['own.jsonl', './own.jsonl', trainedOn]) {
      assert.deepEqual(heldOut(trainedOn, named), expected);
    }
    assert.deepEqual(heldOut('own.jsonl', trainedOn), expected, 'the run was started elsewhere with a relative path');
    assert.deepEqual(heldOut('steps:1-2', 'steps:1-2'), { source: 'steps:1-2', split: 'test' });
  });

  it('are all problems of another file, or the test split of built-in problems that the run did not use', () => {
    assert.deepEqual(heldOut('tiny', 'nested'), { source: 'nested', split: undefined });
    assert.deepEqual(heldOut(trainedOn, 'new.jsonl'), { source: resolve('new.jsonl'), split: undefined });
    assert.deepEqual(heldOut(undefined, 'tiny'), { source: 'tiny', split: undefined });
    assert.deepEqual(heldOut('tiny', 'new.jsonl'), { source: resolve('new.jsonl'), split: undefined });
  });

  it('are the problems of the split that is named', () => {
    assert.deepEqual(heldOut(trainedOn, trainedOn, 'train'), { source: trainedOn, split: 'train' });
    assert.deepEqual(heldOut('tiny', 'tiny', 'validation'), { source: 'tiny', split: 'validation' });
  });
});

describe('the programs of an evaluation', () => {
  it('are written as EvalPlus reads samples, with the id of the problem in each sample', async () => {
    const { store } = (await memoryDoubles()).deps;
    const program = (n: number): string => `def solve(x):\n    return x + ${n}\n`;
    const chain = (n: number, sample: number, text: string) => ({
      problemId: addProblem(n).id,
      sample,
      turns: [{ stage: 5, text, truncated: false, promptTokens: 0, tokens: [], logprobs: [] }],
    });
    const artifacts = {
      config: await store.putJson({ ...runIdentity(resolveConfig({ preset: 'smollm2-135m' })), start: null }),
      problems: await store.putJson({ train: [], validation: [], test: [addProblem(1), addProblem(2)] }),
      chains: await store.putJson([
        chain(1, 0, `\`\`\`python\n${program(1)}\`\`\``),
        chain(1, 1, 'I do not know.'),
        chain(2, 0, program(3)),
      ]),
    };
    const samples = await samplesOf(store, artifacts as never);
    assert.deepEqual(
      samples.map(({ task_id, solution }) => [task_id, solution.trim()]),
      [
        ['add-1', program(1).trim()],
        ['add-1', ''],
        ['add-2', program(3).trim()],
      ],
    );
  });
});
