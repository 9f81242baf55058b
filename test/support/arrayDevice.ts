// A device for slots whose memory is arrays: caches are ordinary inputs and outputs of the graphs, and are copied.

import type { DecodeOptions } from '../../ml/decode/decodeSession.js';
import { graphSampling } from '../../ml/decode/sampler.js';
import type { RowStart, RowStates, SlotDevice } from '../../ml/decode/slots.js';
import { cacheShapes, callInputs, type Inputs, promptInputs } from '../../ml/decode/stepInputs.js';
import { GraphSession, type SessionOptions, type Tensor, tensor } from '../../ml/device/runtime.js';
import type { CacheAttention } from '../../ml/nn/cacheAttention.js';
import type { DecoderConfig } from '../../ml/nn/config.js';
import type { WeightsOf } from '../../ml/nn/decodeGraph.js';
import { buildPromptGraph } from '../../ml/nn/promptGraph.js';
import { buildSamplingStep, STATE } from '../../ml/nn/stepGraph.js';

interface ArrayDeviceOptions {
  rows: number;
  positions: number;
  steps: number;
  attention: CacheAttention;
  session?: SessionOptions;
  weights?: Record<string, Tensor>; // if they are inputs
}

export class ArrayDevice implements SlotDevice {
  readonly rows: number;
  readonly positions: number;
  readonly steps: number;
  stepsRun = 0;
  private prompts: GraphSession | undefined;
  private step: GraphSession | undefined;
  private fixed: Record<string, Tensor> = {};
  private caches: Record<string, Tensor>; // with a spare row

  constructor(
    private readonly c: DecoderConfig,
    private readonly weightsOf: WeightsOf,
    private readonly options: ArrayDeviceOptions,
  ) {
    ({ rows: this.rows, positions: this.positions, steps: this.steps } = options);
    this.caches = Object.fromEntries(
      cacheShapes(c, this.rows + 1, this.positions).map(([name, dims]) => {
        return [name, tensor(new Float32Array(dims.reduce((a, b) => a * b)), dims)];
      }),
    );
  }

  async begin(options: DecodeOptions): Promise<void> {
    await this.step?.close();
    const sampling = graphSampling(options, this.c.vocab)!;
    const { session } = this.options;
    this.prompts ??= await GraphSession.open(buildPromptGraph(this.c, this.weightsOf, this.options), session);
    this.step = await GraphSession.open(
      buildSamplingStep(this.c, this.weightsOf, { ...this.options, sampling }),
      session,
    );
    this.fixed = { ...this.options.weights, ...asTensors(callInputs(this.c, options)) };
  }

  async readStarts(starts: readonly RowStart[], length: number): Promise<void> {
    const { attention, weights } = this.options;
    const inputs = promptInputs(this.c, attention, starts, { length, rows: starts.length, spare: this.rows });
    const out = await this.prompts!.run({ ...weights, ...asTensors(inputs), ...this.caches });
    for (const name of Object.keys(this.caches)) this.caches[name] = out[`${name}.out`]!;
  }

  async runSteps(states: RowStates, count: number): Promise<BigInt64Array> {
    const { rows, steps } = this;
    const int64 = (data: BigInt64Array, dims = [data.length]): Tensor => tensor(data, dims);
    const feeds: Record<string, Tensor> = {
      ...this.fixed,
      token: int64(states.token),
      position: int64(states.position),
      limit: int64(states.limit),
      step: int64(BigInt64Array.of(0n)),
      emitted: int64(new BigInt64Array(steps * rows), [steps, rows]),
      ...(this.fixed.scale && { uniforms: tensor(states.uniforms, [steps, rows]) }),
    };
    for (const [name, cache] of Object.entries(this.caches)) feeds[name] = rowsOf(cache, 0, rows);
    for (let k = 0; k < count; k++) {
      const out = await this.step!.run(feeds);
      for (const name of [...STATE, 'emitted', ...Object.keys(this.caches)]) feeds[name] = out[`${name}.out`]!;
      this.stepsRun++;
    }
    for (const [name, cache] of Object.entries(this.caches))
      (cache.data as Float32Array).set(feeds[name]!.data as Float32Array);
    return feeds.emitted!.data as BigInt64Array;
  }

  async close(): Promise<void> {
    await this.prompts?.close();
    await this.step?.close();
  }
}

const asTensors = (inputs: Inputs): Record<string, Tensor> =>
  Object.fromEntries(Object.entries(inputs).map(([name, { data, dims }]) => [name, tensor(data, dims)]));

function rowsOf({ data, dims }: Tensor, from: number, to: number): Tensor {
  const size = data.length / dims[0]!;
  return tensor((data as Float32Array).subarray(from * size, to * size), [to - from, ...dims.slice(1)]);
}
