// Measures one decoding step, with sampling at temperature 1, of the decoder that stays on the device.
import { BoundDevice } from '../../../ml/decode/boundDevice.js';
import { cacheShapes } from '../../../ml/decode/stepInputs.js';
import type { DeviceTensor } from '../../../ml/device/deviceSession.js';
import { bytesOf } from '../../../ml/ir/op.js';
import type { CacheType } from '../../../ml/nn/cacheAttention.js';
import { fusedAdapterShapes } from '../../../ml/nn/fusedAdapter.js';
import { FusedWeights, fusedInputs } from '../../../ml/nn/fusedWeights.js';
import { elements } from '../../../ml/nn/layout.js';
import { needMemory, type Recorder, round, type SectionOptions, timed, usedGigabytes } from './measure.js';
import { decoderOf, type ModelName, randomTensor } from './models.js';

interface Plan {
  model: ModelName;
  type: CacheType;
  rows: number;
  rank?: number; // the rank of an adapter beside the weights
  recorded?: false; // true by default
}

/** The models. Small ones come first, because they are the most informative and large ones take long to load. */
const PLANS: readonly Plan[] = [
  { model: 'SmolLM2-135M', type: 'float16', rows: 64 },
  { model: 'SmolLM2-135M', type: 'float16', rows: 64, recorded: false },
  { model: 'SmolLM2-135M', type: 'float16', rows: 64, rank: 8 },
  { model: 'SmolLM2-135M', type: 'float16', rows: 8 },
  { model: 'SmolLM2-135M', type: 'float32', rows: 64 },
  { model: 'SmolLM2-135M', type: 'float32', rows: 64, recorded: false },
  { model: 'SmolLM2-135M', type: 'bfloat16', rows: 64 },
  { model: 'Qwen2.5-0.5B', type: 'float16', rows: 64 },
  { model: 'Qwen2.5-0.5B', type: 'float16', rows: 8 },
  { model: 'Qwen2.5-1.5B', type: 'float16', rows: 64, rank: 16 },
  { model: 'Qwen2.5-1.5B', type: 'float16', rows: 64 },
  { model: 'Qwen2.5-1.5B', type: 'float16', rows: 8, rank: 16 },
  { model: 'Qwen2.5-7B', type: 'float16', rows: 64, rank: 16 },
  { model: 'Qwen2.5-7B', type: 'float16', rows: 8, rank: 16 },
];
const SMALL: readonly Plan[] = [
  { model: 'SmolLM2-135M', type: 'float32', rows: 2 },
  { model: 'SmolLM2-135M', type: 'float16', rows: 2, rank: 4 },
];
const [POSITIONS, FILLED, STEPS] = [256, 192, 16];
const CHUNKS = 8;
const WORKSPACE = 1.5e9; // bytes for CUDA itself, cuBLAS and activations

type Tensors = Record<string, DeviceTensor>;

export async function step(record: Recorder, { device, small }: SectionOptions): Promise<void> {
  let weights: Tensors = {};
  let loaded = '';
  for (const { model, type, rows, rank = 0, recorded = true } of small ? SMALL : PLANS) {
    const name = `${type} ${model} ${rows} rows${rank ? `, rank ${rank}` : ''}${recorded ? '' : ', not recorded'}`;
    await record(name, async () => {
      const c = decoderOf(model, small);
      if (loaded !== `${model} ${type}`) {
        dispose(weights);
        [weights, loaded] = [{}, ''];
        const count = fusedInputs(c).reduce((sum, { shape }) => sum + elements(shape), 0);
        const caches = cacheShapes(c, rows + 1, POSITIONS).reduce((sum, [, dims]) => sum + elements(dims), 0);
        await needMemory(device, bytesOf(type, count + caches) + WORKSPACE);
        for (const { name, shape } of fusedInputs(c)) weights[name] = randomTensor(device, type, name, shape);
        loaded = `${model} ${type}`;
      }
      const adapter: Tensors = {};
      let decoder: BoundDevice | undefined;
      try {
        for (const [name, shape] of rank > 0 ? fusedAdapterShapes(c, rank) : [])
          adapter[name] = randomTensor(device, type, name, shape);
        const made = new BoundDevice(c, (g) => new FusedWeights(g, c, { type, ...(rank > 0 && { rank }) }), {
          ...{ rows, positions: POSITIONS, steps: STEPS, type, weights: { ...weights, ...adapter } },
          session: { memory: device, recorded: recorded && device === 'cuda' },
        });
        decoder = made;
        made.begin({ temperature: 1, maxNewTokens: STEPS, stopTokens: [] });
        const states = {
          token: new BigInt64Array(rows).fill(5n),
          position: new BigInt64Array(rows).fill(BigInt(FILLED)),
          limit: new BigInt64Array(rows).fill(BigInt(STEPS)),
          uniforms: Float64Array.from({ length: STEPS * rows }, (_, i) => ((i * 0.618) % 0.98) + 0.01),
        };
        made.runSteps(states, 2); // records the graph of each of the two bindings
        const { figures } = await timed(async () => made.runSteps(states, STEPS), CHUNKS);
        const milliseconds = round((figures.seconds * 1000) / STEPS);
        const tokensPerSecond = Math.round((rows * 1000) / milliseconds);
        return { milliseconds, tokensPerSecond, usedGigabytes: await usedGigabytes(device) };
      } finally {
        decoder?.close();
        dispose(adapter);
      }
    });
  }
  dispose(weights);
}

function dispose(tensors: Tensors): void {
  for (const tensor of Object.values(tensors)) tensor.dispose();
}
