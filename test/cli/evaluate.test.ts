// Which problems `gauntlet evaluate` measures by default.
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { heldOut } from '../../cli/commands/evaluate.js';

describe('problems of an evaluation', () => {
  const trainedOn = resolve('own.jsonl');

  it('are those of the test split if the run trained on the others, however the file is named', () => {
    const expected = { source: trainedOn, split: 'test' as const };
    for (const named of [undefined, 'own.jsonl', './own.jsonl', trainedOn]) {
      assert.deepEqual(heldOut(trainedOn, named), expected);
    }
    assert.deepEqual(heldOut('own.jsonl'), expected, 'the run was started elsewhere with a relative path');
    assert.deepEqual(heldOut('steps:1-2'), { source: 'steps:1-2', split: 'test' });
  });

  it('are chosen by the worker if they are not the run’s: all of a file, the test split of built-in problems', () => {
    assert.deepEqual(heldOut('tiny', 'nested'), { source: 'nested', split: undefined });
    assert.deepEqual(heldOut(trainedOn, 'new.jsonl'), { source: resolve('new.jsonl'), split: undefined });
    assert.deepEqual(heldOut('tiny', 'new.jsonl'), { source: resolve('new.jsonl'), split: undefined });
  });

  it('are those of a named split', () => {
    assert.deepEqual(heldOut(trainedOn, undefined, 'train'), { source: trainedOn, split: 'train' });
    assert.deepEqual(heldOut('tiny', 'tiny', 'validation'), { source: 'tiny', split: 'validation' });
  });
});
