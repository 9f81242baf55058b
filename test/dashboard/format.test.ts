// The names that the pages show.
import assert from 'node:assert/strict';
import { intervalText, isBeyondNoise, modelName, phaseName } from '../../dashboard/web/format.js';

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

describe('the noise of two rates', () => {
  const [none, all] = [
    { value: 0, low: 0, high: 0.49 },
    { value: 1, low: 0.51, high: 1 },
  ];
  it('hides a difference that the intervals explain', () => {
    assert.ok(isBeyondNoise(none, all) && isBeyondNoise(all, none));
    const most = { value: 0.75, low: 0.3, high: 0.95 };
    assert.ok(!isBeyondNoise(all, most) && !isBeyondNoise(most, all) && !isBeyondNoise(all, all));
    assert.ok(!isBeyondNoise({ value: 0, low: 0, high: 0.7 }, { value: 1, low: 0.2, high: 1 }));
  });

  it('is shown as an interval with one unit', () => {
    assert.equal(intervalText(all), '51 to 100 %');
    assert.equal(intervalText({}), '');
  });
});
