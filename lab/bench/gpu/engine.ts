// Measures the engine on the card: sampling, scoring, and the gradient of PPO for 16 chains with 10,800 tokens.
import { deriveKey } from '../../../core/base/random.js';
import { CUDA_ACTIVATION_MEGABYTES } from '../../../core/schema/config.js';
import type { Engine, Precision } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import type { Adapter } from '../../../ml/nn/layout.js';
import { type Job, makeJob } from '../inputs.js';
import { type Recorder, type SectionOptions, timed, usedGigabytes } from './measure.js';
import { type ModelName, provideModel } from './models.js';

export interface Setting {
  model: ModelName;
  precision: Extract<Precision, 'f32' | 'f16'>;
}
export const rankOf = (model: ModelName): number => (model === 'SmolLM2-135M' ? 8 : 16);

/** The number of prompts of 64 tokens (answered with 64 tokens), and the number of prompts of other lengths. */
export const SAMPLING: readonly (Setting & { prompts: number[]; ragged?: number })[] = [
  { model: 'SmolLM2-135M', precision: 'f16', prompts: [64, 8], ragged: 256 },
  { model: 'SmolLM2-135M', precision: 'f32', prompts: [64] },
  { model: 'Qwen2.5-1.5B', precision: 'f16', prompts: [64] },
];
export const TRAINING: readonly Setting[] = [
  { model: 'SmolLM2-135M', precision: 'f32' },
  { model: 'SmolLM2-135M', precision: 'f16' },
  { model: 'Qwen2.5-1.5B', precision: 'f16' },
  { model: 'Qwen2.5-0.5B', precision: 'f16' },
];
const SMALL = { prompts: [2], ragged: 4 };
const RAGGED = { shortest: 40, longest: 300, newTokens: 128, endsOneIn: 64 };

export const samplingCase = ({ model, precision }: Setting, prompts: number): string =>
  `${precision} ${model} ${prompts} x 64 tokens`;
export const gradientCase = ({ model, precision }: Setting): string => `${precision} gradient ${model}`;

/** Opens the engine without a self-test, because the section `check` has run it. */
async function withEngine(
  record: Recorder,
  { model, precision }: Setting,
  { device, small, cache }: SectionOptions,
  use: (engine: Engine, adapter: Adapter) => Promise<void>,
): Promise<void> {
  const activationBytes = CUDA_ACTIVATION_MEGABYTES * 2 ** 20;
  const options = { device, precision, ...(device === 'cuda' && { activationBytes }) };
  const devices = { installed: ['cpu' as const, 'cuda' as const], check: async () => undefined };
  let engine: Engine;
  try {
    engine = await openEngine(provideModel(model, small, cache), options, devices);
  } catch (error) {
    return record(`${precision} ${model}`, () => Promise.reject(error));
  }
  try {
    await use(engine, engine.initAdapter({ rank: rankOf(model), alpha: 16 }, 0));
  } finally {
    await engine.close();
  }
}

export async function generate(record: Recorder, options: SectionOptions): Promise<void> {
  const { device, small } = options;
  for (const setting of small ? SAMPLING.slice(0, 2) : SAMPLING)
    await withEngine(record, setting, options, async (engine, adapter) => {
      const { prompts: counts, ragged } = small ? SMALL : setting;
      const measure = (name: string, count: number, makeWork: MakeWork) =>
        record(name, async () => {
          const { last: tokens, figures } = await timed(async (round) => {
            const { prompts, ...limits } = makeWork(round, engine.info.vocabSize, count);
            const requests = prompts.map((prompt, i) => ({ prompt, key: deriveKey('gpu', round, i) }));
            const answers = await engine.generate(requests, { adapter, temperature: 1, ...limits });
            return answers.reduce((sum, answer) => sum + answer.tokens.length, 0);
          });
          const tokensPerSecond = Math.round(tokens / figures.seconds);
          return { ...figures, tokens, tokensPerSecond, usedGigabytes: await usedGigabytes(device) };
        });
      for (const count of counts) await measure(samplingCase(setting, count), count, equalPrompts);
      if (ragged) await measure(`${setting.precision} ${setting.model} ${ragged} requests`, ragged, raggedPrompts);
    });
}

/** Gives every round new prompts, so that no cache helps. */
type MakeWork = (
  round: number,
  vocab: number,
  count: number,
) => { prompts: number[][]; maxNewTokens: number; stopTokens: number[] };

const equalPrompts: MakeWork = (round, vocab, count) => {
  const work = { kind: 'decode', rows: count, prompt: 64, newTokens: 64 } as const;
  const { prompts } = makeJob(work, vocab, 'gpu', round) as Job & { kind: 'decode' };
  return { prompts, maxNewTokens: 64, stopTokens: [] };
};

/** Makes prompts of 40 to 300 tokens. One token in 64 ends an answer, so rows become free at different times. */
const raggedPrompts: MakeWork = (round, vocab, count) => {
  const { shortest, longest, newTokens, endsOneIn } = RAGGED;
  const work = { kind: 'decode', rows: count, prompt: longest, newTokens } as const;
  const { prompts } = makeJob(work, vocab, 'gpu ragged', round) as Job & { kind: 'decode' };
  const lengthOf = (i: number): number => shortest + ((i * 37) % (longest - shortest));
  return {
    prompts: prompts.map((prompt, i) => prompt.slice(0, lengthOf(i))),
    maxNewTokens: newTokens,
    stopTokens: Array.from({ length: Math.floor(vocab / endsOneIn) }, (_, i) => i * endsOneIn),
  };
};

export async function train(record: Recorder, options: SectionOptions): Promise<void> {
  const { device, small } = options;
  for (const setting of small ? TRAINING.slice(0, 2) : TRAINING)
    await withEngine(record, setting, options, async (engine, adapter) => {
      const rows = chains(engine.info.vocabSize, small);
      const tokens = rows.reduce((sum, row) => sum + row.tokens.length, 0);
      const measure = (name: string, run: () => Promise<unknown>) =>
        record(name, async () => {
          const { figures } = await timed(run);
          return { ...figures, tokens, usedGigabytes: await usedGigabytes(device) };
        });
      const loss = { clip: 0.2, temperature: 1 };
      await measure(gradientCase(setting), () => engine.gradients(rows, { adapter, loss }));
      await measure(`${setting.precision} score ${setting.model}`, () =>
        engine.logprobs(rows, { adapter, temperature: 1 }),
      );
    });
}

/** Makes four chains of five answers for each of four problems. */
export function chains(vocab: number, small: boolean) {
  const work = { kind: 'ragged', ...(small ? { problems: 1, samples: 2 } : { problems: 4, samples: 4 }) } as const;
  return (makeJob(work, vocab, 'device', 0) as Job & { kind: 'train' }).rows;
}
