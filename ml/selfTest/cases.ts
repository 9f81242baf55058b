// What the self-test computes on a device: a matrix product, and each kind of graph for a small random model that has every feature
// of the architectures.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RandomStream } from '../../core/base/random.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import { DecodeSession } from '../decode/decodeSession.js';
import { DeviceDecoder } from '../decode/deviceDecoder.js';
import { GraphSession, type SessionDevice, tensor } from '../device/runtime.js';
import { locateWeights } from '../device/weightLocations.js';
import type { SessionModel } from '../engine/base.js';
import type { LossConfig } from '../engine/engine.js';
import { locateQuantized } from '../engine/quantizedWeights.js';
import type { StoredParameter } from '../hf/checkpoint.js';
import { packedLayout } from '../hf/packed.js';
import { quantizeModel } from '../hf/quantize.js';
import { Graph } from '../ir/graph.js';
import type { Half } from '../ir/half.js';
import type { DecoderConfig } from '../nn/config.js';
import { elements, type IdentifiedAdapter, layoutSize, loraLayout, parameterLayout, viewsOf } from '../nn/layout.js';
import { TrainSession } from '../train/trainSession.js';

const CONFIG: DecoderConfig = {
  hidden: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  ffn: 96,
  vocab: 64,
  normEps: 1e-6,
  ropeTheta: 10_000,
  biases: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  qkNorm: true,
  tied: false,
};
const CONTEXT = 64;
const LENGTH = 45; // more than a block of queries in training
const TOKENS = 8; // the number of tokens that are sampled
const ANSWER = 4; // the last tokens of a row, which are decoded in steps
const GROUP = 32;
const RANK = 4;
const LOSS: LossConfig = {
  clip: 0.2,
  temperature: 0.9,
  average: 'sequence',
  entropyBonus: 0.01,
  klCoefficient: 0.1,
  dropout: { rate: 0.1, key: [1, 2] },
};

// How far the numbers of a device may be from those of the CPU, relative to the largest one.
const PRODUCT = 1e-5; // small enough to notice factors that are rounded to ten bits (TF32)
const EXACT = 1e-3;
const SAMPLED = 3e-3; // between tokens that are equally likely in f16
const ROUNDED = 5e-2; // devices round activations to eight or sixteen bits in different ways

type Numbers = ArrayLike<number>;

export interface Case {
  name: string;
  tolerance: number;
  half?: number; // the tolerance in 16 bits; absent: the case does not run in 16 bits
  rowLength?: number; // the length of rows in which the numbers after a difference follow from that difference and do not count
  varies?: boolean; // two runs may differ, because sums have no fixed order
  /** @param half the type in which layers compute; absent: f32 */
  run(device: SessionDevice, half?: Half): Promise<Numbers>;
}

/** @param folder gets the weights */
export function selfTestCases(folder: string): Case[] {
  const random = new RandomStream('self-test');
  const drawn = (config: DecoderConfig): Float32Array => {
    const layout = parameterLayout(config);
    const flat = new Float32Array(layoutSize(layout));
    for (const { name, shape, offset } of layout) {
      const matrix = shape.length > 1;
      const [mean, deviation] = name.includes('norm') ? [1, 0.1] : [0, matrix ? 1 / Math.sqrt(shape[1]!) : 0.1];
      for (let i = offset; i < offset + elements(shape); i++) flat[i] = mean + deviation * random.normal();
    }
    return flat;
  };
  const [layout, flat] = [parameterLayout(CONFIG), drawn(CONFIG)];
  const normal = (count: number, deviation: number): Float32Array =>
    Float32Array.from({ length: count }, () => deviation * random.normal());
  const values = normal(layoutSize(loraLayout(CONFIG, RANK)), 0.1);
  const adapter: IdentifiedAdapter = { rank: RANK, alpha: 8, values, digest: 'self-test' };
  const rows = [LENGTH, LENGTH - 9].map((length) => randomRow(random, length));

  const path = join(folder, 'weights');
  writeFileSync(
    path,
    Uint16Array.from(new Uint32Array(flat.buffer), (bits) => bits >>> 16),
  );
  const stored = new Map(
    layout.map(({ name, shape, offset }): [string, StoredParameter] => [
      name,
      { path, dtype: 'BF16', offset: 2 * offset, length: 2 * elements(shape), shape },
    ]),
  );
  const packed = packedLayout(CONFIG, { bits: 4, groupSize: GROUP }); // the output projection has eight bits
  const packedPath = join(folder, 'packed');
  quantizeModel(stored, packed, false, packedPath);
  const model: SessionModel = { config: CONFIG, weights: viewsOf(layout, flat) };
  const mapped: SessionModel = { config: CONFIG, locations: locateWeights(stored) };
  const int4: SessionModel = { config: CONFIG, locations: locateQuantized(stored, packed, packedPath) };

  const [a, b] = [tensor(normal(64 * 256, 1), [64, 256]), tensor(normal(256 * 64, 1), [256, 64])];
  const product = async (device: SessionDevice): Promise<Numbers> => {
    const g = new Graph();
    g.output('y', g.matMul(g.input('a', 'float32', a.dims), g.input('b', 'float32', b.dims)));
    const session = await GraphSession.open(g, { device });
    const { y } = await session.run({ a, b });
    await session.close();
    return y!.data as Float32Array;
  };
  type Compute = (session: TrainSession) => Promise<Numbers>;
  const training = (of: SessionModel, compute: Compute) => async (device: SessionDevice, half?: Half) => {
    const session = new TrainSession(of, { device, half });
    const numbers = await compute(session);
    await session.close();
    return numbers;
  };
  /** Log-probs and entropies of all rows together, and of one row alone. */
  const scores = (temperature: number) => async (session: TrainSession) => {
    const together = await session.scoreWithEntropies(rows, adapter, temperature);
    const alone = await session.scoreWithEntropies(rows.slice(1), adapter, temperature);
    return [...together, ...alone].flatMap(({ logprobs, entropies }) => [...logprobs, ...entropies]);
  };
  const ppo = async (session: TrainSession) => (await session.ppo(rows, adapter, LOSS)).gradients;
  const sft = async (session: TrainSession) => (await session.sft(flat, rows)).gradients;
  /** Keys and values, and log-probs of the next tokens. The last tokens of the prompts are fed in steps. */
  const decoding = (of: SessionModel) => async (device: SessionDevice) => {
    const session = new DecodeSession(of, CONTEXT, device);
    session.use(adapter);
    const requests = rows.map(({ tokens }, i) => {
      return { prompt: tokens, key: [0, i] as const, sampled: [[tokens.length - ANSWER, tokens.length]] as const };
    });
    const options = { maxNewTokens: 1, temperature: 1, logprobs: true, stopTokens: [] };
    const { answers, caches } = await session.generate(requests, options, {}, Number.POSITIVE_INFINITY);
    await session.close();
    return [...caches.flatMap((cache) => [...cache!.kv]), ...answers.flatMap(({ logprobs }) => logprobs!)];
  };
  /** Each model uses another kernel of attention over caches. The last ones have the head sizes of Llama 3.2 and Qwen2.5. */
  const models: [SessionModel, IdentifiedAdapter?][] = [
    [mapped, adapter],
    [{ ...mapped, config: { ...CONFIG, qkNorm: false } }, adapter],
  ];
  for (const heads of [
    { heads: 8, headDim: 64 },
    { heads: 12, headDim: 128 },
  ]) {
    const config = { ...CONFIG, ...heads, layers: 1, qkNorm: false };
    models.push([{ config, weights: viewsOf(parameterLayout(config), drawn(config)) }]);
  }
  /** A CPU's log-probs of the tokens that the decoder of a device finds most likely. */
  const sampling = async (device: SessionDevice, half?: Half): Promise<Numbers> => {
    const requests = rows.map(({ tokens }, i) => ({ prompt: tokens, key: [0, i] as const }));
    const logprobs: number[] = [];
    for (const [own, adapter] of models) {
      const session =
        device.provider === 'cpu' && !half
          ? new DecodeSession(own, CONTEXT, device)
          : new DeviceDecoder(own, CONTEXT, { memory: device.provider, type: half ?? 'float32', rows: rows.length });
      session.use(adapter);
      const { answers } = await session.generate(requests, { maxNewTokens: TOKENS, temperature: 0, stopTokens: [] });
      await session.close();
      const scorer = new TrainSession(own);
      const sequences = requests.map(({ prompt }, i) => ({ tokens: [...prompt, ...answers[i]!.tokens] }));
      logprobs.push(...(await scorer.score(sequences, adapter, 1)).flatMap((row) => row.slice(-TOKENS)));
      await scorer.close();
    }
    return logprobs;
  };
  return [
    { name: 'a matrix product', tolerance: PRODUCT, run: product },
    { name: 'scoring', tolerance: EXACT, half: ROUNDED, run: training(model, scores(0.9)) },
    { name: 'scoring with large logits', tolerance: EXACT, run: training(model, scores(0.005)) },
    { name: 'the gradient of PPO', tolerance: EXACT, run: training(model, ppo) },
    { name: 'the gradient of PPO with 16-bit weights', tolerance: EXACT, half: ROUNDED, run: training(mapped, ppo) },
    { name: 'the gradient of PPO with int4 weights', tolerance: EXACT, run: training(int4, ppo) },
    { name: 'the gradient of all parameters', tolerance: EXACT, varies: true, run: training(model, sft) },
    { name: 'decoding', tolerance: EXACT, run: decoding(model) },
    { name: 'decoding with int4 weights', tolerance: ROUNDED, run: decoding(int4) },
    { name: 'sampling', tolerance: EXACT, half: SAMPLED, rowLength: TOKENS, run: sampling },
  ];
}

function randomRow(random: RandomStream, length: number): Trajectory {
  const tokens = Array.from({ length }, () => random.int(0, CONFIG.vocab - 1));
  const around = (mean: number): number[] => tokens.map(() => mean + 0.2 * random.normal());
  return {
    tokens,
    mask: tokens.map((_, t) => (t > length / 3 ? 1 : 0)),
    oldLogprobs: around(-4.5),
    referenceLogprobs: around(-4.5),
    advantage: random.normal(),
  };
}
