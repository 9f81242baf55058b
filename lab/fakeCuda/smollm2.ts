// Counts the CUDA calls of SmolLM2-135M when it decodes and trains. The weights are zeros in a sparse file, because kernels do
// nothing here and the numbers do not matter.
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deriveKey } from '../../core/base/random.js';
import { CUDA_ACTIVATION_MEGABYTES } from '../../core/schema/config.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import { DecodeSession } from '../../ml/decode/decodeSession.js';
import { DeviceDecoder } from '../../ml/decode/deviceDecoder.js';
import { BaseWeights } from '../../ml/device/baseWeights.js';
import { deviceOf } from '../../ml/device/runtime.js';
import { locateWeights } from '../../ml/device/weightLocations.js';
import type { SessionModel } from '../../ml/engine/base.js';
import { CONTEXT, planCard } from '../../ml/engine/cardPlan.js';
import { partsByLength } from '../../ml/engine/chunks.js';
import type { Precision } from '../../ml/engine/engine.js';
import { joinedRows } from '../../ml/engine/minibatch.js';
import { GRADIENT_SEQUENCES } from '../../ml/engine/ortEngine.js';
import { parseModelConfig } from '../../ml/hf/config.js';
import { HALF } from '../../ml/ir/half.js';
import { type IdentifiedAdapter, layoutSize, loraLayout, parameterLayout } from '../../ml/nn/layout.js';
import { fitsOneRun } from '../../ml/train/activations.js';
import { planRows } from '../../ml/train/branches.js';
import { TrainSession } from '../../ml/train/trainSession.js';
import { type Job, makeJob } from '../bench/inputs.js';
import { CONFIGS } from '../bench/shapes.js';
import { type Calls, type Counts, countCuda, memoryNow } from './counts.js';

export const SMOLLM2 = parseModelConfig(CONFIGS['SmolLM2-135M'], 'SmolLM2');
const RANK = 8;

/** Calls `use` with the model, whose weights are in a temporary file. */
export async function withSmolLM2<T>(use: (model: SessionModel) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'gauntlet-fake-cuda-'));
  try {
    const path = join(folder, 'weights');
    const layout = parameterLayout(SMOLLM2);
    writeFileSync(path, '');
    truncateSync(path, 4 * layoutSize(layout));
    const stored = layout.map(
      ({ name, shape, offset }) =>
        [name, { path, dtype: 'F32' as const, offset: 4 * offset, length: 0, shape }] as const,
    );
    return await use({ config: SMOLLM2, locations: locateWeights(new Map(stored)) });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const CUDA = deviceOf('cuda');

function newAdapter(): IdentifiedAdapter {
  const values = new Float32Array(layoutSize(loraLayout(SMOLLM2, RANK)));
  return { rank: RANK, alpha: 2 * RANK, values, digest: 'zeros' };
}

/** Counts one step of decoding: the calls that a second new token adds. */
export function decodingStep(rows: number): Promise<Calls> {
  return withSmolLM2(async (model) => {
    const session = new DecodeSession(model, SMOLLM2.contextLength, CUDA);
    session.use(newAdapter());
    const work = { kind: 'decode', rows, prompt: 64, newTokens: 2 } as const;
    const { prompts } = makeJob(work, SMOLLM2.vocab, 'fake-cuda', 0) as Job & { kind: 'decode' };
    const requests = prompts.map((prompt, i) => ({ prompt, key: deriveKey('fake-cuda', i) }));
    const sample = (maxNewTokens: number) =>
      countCuda(() => session.generate(requests, { maxNewTokens, temperature: 0, stopTokens: [] }));
    await sample(2); // opens the graphs, and allocates the memory of a step
    const [one, two] = [(await sample(1)).direct, (await sample(2)).direct];
    await session.close();
    const { byKernel, ...counted } = two;
    for (const name of Object.keys(counted) as (keyof typeof counted)[]) counted[name] -= one[name];
    return { ...counted, byKernel };
  });
}

/**
 * Counts the gradient of PPO for 16 chains, in the parts that the engine would make with the settings of a run on CUDA.
 * `planned` is the memory that the plan for a card reserves for it.
 */
export function gradient(
  precision: Precision,
  checkpointing?: boolean,
): Promise<{ counts: Counts; left: number; planned: number }> {
  return withSmolLM2(async (model) => {
    const activationBytes = CUDA_ACTIVATION_MEGABYTES * 2 ** 20;
    const { rows } = makeJob({ kind: 'ragged', problems: 4, samples: 4 }, SMOLLM2.vocab, 'device', 0) as Job & {
      rows: Trajectory[];
    };
    const joined = joinedRows(rows, planRows(rows));
    const fits = (sequences: number, length: number) =>
      fitsOneRun(SMOLLM2, { sequences, length }, RANK, activationBytes);
    const parts = partsByLength(joined, ({ tokens }) => tokens.length, GRADIENT_SEQUENCES, fits);
    const before = memoryNow();
    const half = HALF[precision];
    const base = new BaseWeights(model, 'cuda', half ?? 'float32');
    const session = new TrainSession(model, {
      device: CUDA,
      half,
      base,
      activationBytes,
      keptBytes: activationBytes,
      checkpointing,
    });
    const adapter = newAdapter();
    const compute = async (): Promise<void> => {
      for (const part of parts) {
        const own = part.map((i) => joined[i]!);
        await session.ppo(own, adapter, { clip: 0.2, temperature: 1 });
      }
    };
    for (let i = 0; i < 2; i++) await compute(); // opens the graphs, and fills the arena
    const counts = await countCuda(compute);
    await session.close();
    const { weights, training } = planCard(SMOLLM2, { precision, activationBytes, checkpointing, rank: RANK });
    return { counts, left: memoryNow() - before, planned: weights + training };
  });
}

/** The peak memory while a decoder of 16 rows and the gradients of 8 rows share the weights, as in a worker on CUDA in f16. */
export function samplingAndTraining(): Promise<{ peak: number; left: number; planned: number }> {
  return withSmolLM2(async (model) => {
    const [half, decoderRows, activationBytes] = ['float16' as const, 16, CUDA_ACTIVATION_MEGABYTES * 2 ** 20];
    const { rows } = makeJob({ kind: 'ragged', problems: 2, samples: 4 }, SMOLLM2.vocab, 'device', 0) as Job & {
      rows: Trajectory[];
    };
    const before = memoryNow();
    const base = new BaseWeights(model, 'cuda', half);
    const decoder = new DeviceDecoder(model, SMOLLM2.contextLength, {
      memory: 'cuda',
      type: half,
      rows: decoderRows,
      base,
    });
    const options = { device: CUDA, half, base, activationBytes, keptBytes: activationBytes };
    const session = new TrainSession(model, options);
    const requests = rows.map(({ tokens }, i) => ({ prompt: tokens.slice(0, 64), key: deriveKey('fake-cuda', i) }));
    const { peakMemory } = await countCuda(async () => {
      for (let step = 0; step < 2; step++) {
        decoder.use(newAdapter());
        await decoder.generate(requests, { maxNewTokens: 16, temperature: 1, stopTokens: [] });
        await session.ppo(rows, newAdapter(), { clip: 0.2, temperature: 1 });
      }
    });
    decoder.close();
    await session.close();
    const plan = planCard(SMOLLM2, { precision: 'f16', activationBytes, decoderRows, rank: RANK });
    return { peak: peakMemory, left: memoryNow() - before, planned: plan.total - CONTEXT };
  });
}
