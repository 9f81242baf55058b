// A small random model with every feature of the architectures, and one run of each kind of program on it. The self-test
// compares the results of two devices.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RandomStream } from '../../core/random.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import { DecodeSession } from '../decode/decodeSession.js';
import type { Provider } from '../device/providers.js';
import { locateWeights } from '../device/weightLocations.js';
import type { SessionModel } from '../engine/base.js';
import type { LossConfig } from '../engine/engine.js';
import { locateQuantized } from '../engine/quantizedWeights.js';
import type { StoredParameter } from '../hf/checkpoint.js';
import { packedLayout } from '../hf/packed.js';
import { quantizeModel } from '../hf/quantize.js';
import type { DecoderConfig } from '../nn/config.js';
import { adapterLayout, elements, type IdentifiedAdapter, layoutSize, parameterLayout, viewsOf } from '../nn/layout.js';
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
const ANSWER = 4; // of these tokens are decoded in steps
const GROUP = 32;
const RANK = 4;
const LOSS: LossConfig = {
  clip: 0.2,
  temperature: 0.9,
  average: 'sequence',
  entropyBonus: 0.01,
  klCoefficient: 0.1,
  valueCoefficient: 0.5,
  valueClip: 0.2,
  dropout: { rate: 0.1, key: [1, 2] },
};

/** A program's results by what computes them. */
export type Results = Record<string, ArrayLike<number>>;

export interface Program {
  name: string;
  /** How far results of a device may be from those of the CPU, relative to the largest number. */
  tolerance: number;
  run(provider: Provider): Promise<Results>;
}

/** The programs, and what removes their files. */
export function smallModelPrograms(): { programs: Program[]; close: () => void } {
  const random = new RandomStream('self-test');
  const layout = parameterLayout(CONFIG);
  const flat = new Float32Array(layoutSize(layout));
  for (const { name, shape, offset } of layout) {
    const [mean, deviation] = name.includes('norm') ? [1, 0.1] : [0, shape.length > 1 ? 1 / Math.sqrt(shape[1]!) : 0.1];
    for (let i = offset; i < offset + elements(shape); i++) flat[i] = mean + deviation * random.normal();
  }
  const values = Float32Array.from(
    { length: layoutSize(adapterLayout(CONFIG, { rank: RANK, valueHead: true })) },
    () => {
      return 0.1 * random.normal();
    },
  );
  const adapter: IdentifiedAdapter = { rank: RANK, alpha: 8, values, valueHead: true, digest: 'self-test' };
  const rows = [LENGTH, LENGTH - 9].map((length) => randomRow(random, length));

  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-self-test-'));
  const path = join(folder, 'weights');
  writeFileSync(path, flat);
  const stored = new Map(
    layout.map(({ name, shape, offset }): [string, StoredParameter] => [
      name,
      { path, dtype: 'F32', offset: 4 * offset, length: 4 * elements(shape), shape },
    ]),
  );
  const quantized = (bits: 4 | 8): SessionModel => {
    const packed = packedLayout(CONFIG, { bits, groupSize: GROUP });
    const target = join(folder, `int${bits}`);
    quantizeModel(stored, packed, GROUP, target);
    return { config: CONFIG, locations: locateQuantized(stored, packed, GROUP, target) };
  };
  const small: SessionModel = { config: CONFIG, weights: viewsOf(layout, flat) };
  const mapped: SessionModel = { config: CONFIG, locations: locateWeights(stored) };

  const decoding = (kind: string, model: SessionModel, tolerance: number): Program => ({
    name: `decoding${kind}`,
    tolerance,
    async run(provider) {
      const session = new DecodeSession(model, CONTEXT, provider);
      session.use(adapter);
      const requests = rows.map(({ tokens }, i) => {
        return { prompt: tokens, key: [0, i] as const, sampled: [[tokens.length - ANSWER, tokens.length]] as const };
      });
      const options = { maxNewTokens: 1, temperature: 1, logprobs: true, stopTokens: [] };
      const { answers, caches } = await session.generate(requests, options, {}, Number.POSITIVE_INFINITY);
      await session.close();
      const parts = rows.map(({ tokens }, i) => splitCache(caches[i]!.kv, tokens.length - ANSWER - 1));
      return {
        [`reading prompts${kind}`]: parts.flatMap(([prompts]) => prompts),
        [`decoding${kind}`]: [...parts.flatMap(([, steps]) => steps), ...answers.flatMap(({ logprobs }) => logprobs!)],
      };
    },
  });
  const training = (
    name: string,
    model: SessionModel,
    run: (session: TrainSession) => Promise<ArrayLike<number>>,
  ): Program => ({
    name,
    tolerance: EXACT,
    async run() {
      const session = new TrainSession(model);
      const result = await run(session);
      await session.close();
      return { [name]: result };
    },
  });
  const ppo = async (session: TrainSession) => (await session.ppo(rows, adapter, LOSS)).gradients;
  const programs = [
    training('scoring', small, async (session) => (await session.score(rows, adapter, 0.9)).flat()),
    training('the value head', small, async (session) => (await session.values(rows, adapter)).flat()),
    training('the gradient of PPO', small, ppo),
    training('the gradient of PPO with mapped weights', mapped, ppo),
    training('the gradient of PPO with int4 weights', quantized(4), ppo),
    training('the gradient of all parameters', small, async (session) => (await session.sft(flat, rows)).gradients),
    decoding('', small, EXACT),
    decoding(' with mapped weights', mapped, EXACT),
    decoding(' with int8 weights', quantized(8), ROUNDED),
    decoding(' with int4 weights', quantized(4), ROUNDED),
  ];
  return { programs, close: () => rmSync(folder, { recursive: true }) };
}

const EXACT = 1e-3;
const ROUNDED = 5e-2; // devices round activations to eight bits in different ways

function randomRow(random: RandomStream, length: number): Trajectory {
  const tokens = Array.from({ length }, () => random.int(0, CONFIG.vocab - 1));
  const around = (mean: number): number[] => tokens.map(() => mean + 0.2 * random.normal());
  return {
    tokens,
    mask: tokens.map((_, t) => (t > length / 3 ? 1 : 0)),
    oldLogprobs: around(-4.5),
    referenceLogprobs: around(-4.5),
    oldValues: around(0),
    returns: around(0.5),
    advantage: random.normal(),
  };
}

/** Keys and values [2·layers, KV, positions, hd], before and from a position. */
function splitCache(kv: Float32Array, at: number): [number[], number[]] {
  const { headDim, kvHeads, layers } = CONFIG;
  const size = kv.length / (2 * layers * kvHeads);
  const parts: [number[], number[]] = [[], []];
  kv.forEach((x, i) => {
    parts[i % size < at * headDim ? 0 : 1].push(x);
  });
  return parts;
}
