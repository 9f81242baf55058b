// The configuration of a run: every knob of the method, with the field's names. Parsed once, at an edge.
import { z } from 'zod';
import { stageSchema } from './chain.js';
import { limitsSchema } from './execution.js';

const positiveInt = z.int().positive();
const batchSchema = z.strictObject({ problems: positiveInt, samples: positiveInt });

export const loraSchema = z.strictObject({
  rank: positiveInt.default(16),
  alpha: z.number().positive().default(32),
  dropout: z.literal(0).default(0), // a seeded mask is later work
});

export const ppoSchema = z.strictObject({
  clip: z.number().positive().default(0.2),
  epochs: positiveInt.default(2),
  minibatch: positiveInt.default(32), // sequences
  learningRate: z.number().positive().default(1e-5),
  warmupSteps: z.int().nonnegative().default(3),
  decay: z.number().min(0).max(1).default(0), // linear: the rate falls to (1 - decay) of itself by the last step
  betas: z.tuple([z.number().min(0).lt(1), z.number().min(0).lt(1)]).default([0.9, 0.999]),
  eps: z.number().positive().default(1e-8),
  weightDecay: z.number().nonnegative().default(0.01),
  maxGradNorm: z.number().positive().default(1),
});

export const rewardSchema = z.strictObject({
  scheme: z.enum(['shifted', 'zero-sum']).default('shifted'),
  diversityCredit: z.boolean().default(true), // share a valid test's credit between samples with the same inputs
  archive: z
    .strictObject({
      enabled: z.boolean().default(true),
      size: positiveInt.default(400),
      replay: z.number().min(0).max(1).default(0.7),
    })
    .prefault({}),
});

export const runConfigSchema = z.strictObject({
  preset: z.string().default('custom'),
  seed: z.int().nonnegative().default(0),
  model: z.string().default('tiny'), // 'tiny' (shipped) or a folder in Hugging Face layout
  problems: z.string().default('tiny'), // 'tiny' (shipped family) or a problem file
  prompts: z.enum(['tiny', 'instruct']).default('instruct'),
  schedule: z
    .strictObject({
      stages: z
        .array(stageSchema)
        .min(1)
        .refine(
          (stages) => stages.every((stage, i) => i === 0 || stage > stages[i - 1]!),
          'must be in ascending order, each stage once',
        )
        .default([1, 2, 3, 4, 5]),
      discriminatorSteps: z.int().nonnegative().default(10), // N
      generatorSteps: z.int().nonnegative().default(10), // N
      alternatingSteps: z.int().nonnegative().default(5), // K, generator first
    })
    .prefault({}),
  batch: z
    .strictObject({
      generator: batchSchema.default({ problems: 32, samples: 4 }),
      discriminator: batchSchema.default({ problems: 16, samples: 4 }),
    })
    .prefault({}),
  sampling: z
    .strictObject({
      temperature: z.number().positive().default(0.7),
      maxNewTokens: positiveInt.default(512), // a stage
      maxTestTokens: positiveInt.default(512), // a discriminator turn
    })
    .prefault({}),
  testsPerTurn: positiveInt.max(5).default(3),
  discriminator: z.strictObject({ enabled: z.boolean().default(true) }).prefault({}), // false: baseline tests only
  lora: loraSchema.prefault({}),
  ppo: ppoSchema.prefault({}),
  advantage: z.strictObject({ stdOffset: z.number().nonnegative().default(0.05) }).prefault({}),
  credit: z.enum(['stage', 'suffix']).default('stage'),
  reward: rewardSchema.prefault({}),
  evaluation: z
    .strictObject({
      problems: positiveInt.default(64), // of the validation split, after every epoch
      testProblems: positiveInt.default(400), // of the test split, before and after
      temperature: z.number().positive().default(0.8),
    })
    .prefault({}),
  sandbox: z.enum(['auto', 'docker', 'wasm']).default('auto'),
  limits: limitsSchema.prefault({}),
});
export type RunConfig = z.infer<typeof runConfigSchema>;
export type RunConfigInput = z.input<typeof runConfigSchema>;
