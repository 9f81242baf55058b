import assert from 'node:assert/strict';
import { CUDA_ACTIVATION_MEGABYTES } from '../../../core/schema/config.js';
import { SHAPES, shapeConfig } from '../../../lab/bench/shapes.js';
import { parseModelConfig } from '../../../ml/hf/config.js';
import { fitsOneRun, layerActivations, shouldRecompute } from '../../../ml/train/activations.js';

describe('the activations of sequences that are trained together', () => {
  const config = parseModelConfig(shapeConfig(SHAPES.smollm2), 'shape');
  const cuda = CUDA_ACTIVATION_MEGABYTES * 2 ** 20;
  const chains = (sequences: number) => ({ sequences, length: 700 });

  it('limit a CPU to one chain of SmolLM2-135M at a time, and a GPU to eight', () => {
    const most = (bytes?: number) => [8, 4, 2].find((n) => fitsOneRun(config, chains(n), 8, bytes)) ?? 1;
    assert.deepEqual([most(), most(cuda)], [1, 8]);
  });

  it('are kept if they fit, else recomputed', () => {
    const bytes = config.layers * layerActivations(config, chains(8), 8);
    assert.deepEqual(
      [cuda, bytes, bytes - 1].map((limit) => shouldRecompute(config, chains(8), 8, limit)),
      [false, false, true],
    );
    assert.equal(fitsOneRun(config, chains(3), 8, cuda), false, 'a part of 3 has a padded row');
  });
});
