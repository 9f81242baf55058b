// Counts the CUDA calls of decoding on bound memory, which records chunks of steps as CUDA graphs. Nobody writes the weights.
import { BoundDevice } from '../../ml/decode/boundDevice.js';
import type { DecodeOptions } from '../../ml/decode/decodeSession.js';
import { DeviceTensor } from '../../ml/device/deviceSession.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import type { Graph } from '../../ml/ir/graph.js';
import type { CacheAttention, CacheType } from '../../ml/nn/cacheAttention.js';
import { FusedWeights, fusedInputs } from '../../ml/nn/fusedWeights.js';
import { buildPromptGraph } from '../../ml/nn/promptGraph.js';
import { buildSamplingStep } from '../../ml/nn/stepGraph.js';
import { CONFIGS } from '../bench/shapes.js';
import { countCuda, launches, memoryNow } from './counts.js';
import { SMOLLM2 } from './smollm2.js';

export const MODELS = {
  'SmolLM2-135M': SMOLLM2,
  'Qwen2.5-1.5B': parseModelConfig(CONFIGS['Qwen2.5-1.5B'], 'Qwen2.5'),
};
const [ROWS, POSITIONS, STEPS] = [64, 256, 16];

export interface RecordedSteps {
  'launches of a step': number; // counted while the step is recorded
  'copies and allocations while recording': number; // a replay would repeat them with memory that has been freed
  'calls of a replayed step': number; // a replay is one graph
  'copies of a chunk': number; // the state of the rows to the device, and the tokens to the host
  'bytes left allocated': number;
}

/** Counts steps of 64 rows. */
export async function recordedSteps(
  model: keyof typeof MODELS,
  type: CacheType,
  attention: CacheAttention,
  sampling: Pick<DecodeOptions, 'topK' | 'topP'>,
): Promise<RecordedSteps> {
  const c = MODELS[model];
  const before = memoryNow();
  const weights = Object.fromEntries(
    fusedInputs(c).map(({ name, shape }) => [name, DeviceTensor.empty('cuda', type, shape)]),
  );
  const device = new BoundDevice(c, (g) => new FusedWeights(g, c, { type }), {
    ...{ rows: ROWS, positions: POSITIONS, steps: STEPS, attention, type, weights },
    session: { memory: 'cuda', recorded: true },
  });
  device.begin({ ...sampling, temperature: 1, maxNewTokens: STEPS, stopTokens: [] });
  const states = {
    token: new BigInt64Array(ROWS),
    position: new BigInt64Array(ROWS),
    limit: new BigInt64Array(ROWS).fill(BigInt(STEPS)),
    uniforms: new Float64Array(STEPS * ROWS).fill(0.5),
  };
  const chunk = (steps: number) => countCuda(async () => device.runSteps(states, steps));
  const recording = await chunk(2); // records a graph for each of the two bindings
  const [few, all] = [await chunk(STEPS / 2), await chunk(STEPS)];
  device.close();
  for (const weight of Object.values(weights)) weight.dispose();
  const { captured, graphs } = recording;
  const calls = ({ direct, graphLaunches }: typeof all): number =>
    graphLaunches + launches(direct) + copies(direct) + direct.allocations;
  return {
    'launches of a step': launches(captured) / graphs,
    'copies and allocations while recording': captured.copiesToDevice + captured.copiesToHost + captured.allocations,
    'calls of a replayed step': (calls(all) - calls(few)) / (STEPS / 2),
    'copies of a chunk': copies(all.direct),
    'bytes left allocated': memoryNow() - before,
  };
}

/** The graphs of bound decoding, in the types that suit CUDA, with every way to sample. */
export function decodingGraphs(): Graph[] {
  const options = { rows: 4, positions: POSITIONS, steps: STEPS };
  return CACHES.flatMap(([type, attention]) => {
    const of = { ...options, type, attention };
    const weightsOf = (g: Graph) => new FusedWeights(g, SMOLLM2, { type });
    const samplings = [{ greedy: true }, {}, { topK: 40 }, { topK: 40, topP: true }];
    const steps = samplings.map((sampling) => buildSamplingStep(SMOLLM2, weightsOf, { ...of, sampling }));
    return [buildPromptGraph(SMOLLM2, weightsOf, of), ...steps];
  });
}
const CACHES = [
  ['float32', 'scattered'],
  ['float16', 'grouped'],
] as const;

const copies = ({ copiesToDevice, copiesToHost, copiesOnDevice }: Awaited<ReturnType<typeof countCuda>>['direct']) =>
  copiesToDevice + copiesToHost + copiesOnDevice;
