// The names that the pages show.
import assert from 'node:assert/strict';
import { modelName, phaseName } from '../../dashboard/web/format.js';

describe('the names on the pages', () => {
  it('are short for a model in a folder, and complete for a model of the hub', () => {
    assert.equal(modelName('/root/.cache/models/smollm2-135m-instruct'), 'smollm2-135m-instruct');
    assert.equal(modelName('../models/own/'), 'own');
    assert.equal(modelName('tiny'), 'tiny');
    assert.equal(modelName('Qwen/Qwen3-0.6B'), 'Qwen/Qwen3-0.6B');
    assert.equal(modelName('/'), '/');
  });

  it('mention the warm start once', () => {
    assert.equal(phaseName(0, 'warm-start'), 'warm start');
    assert.equal(phaseName(5, 'generator'), 'stage 5, generator');
  });
});
