// The configuration of a run. docs/configuration.md describes every field.
import { z } from 'zod';
import { countMinibatches } from '../rl/schedules.js';
import { countStepActivities, MAX_STEP_ACTIVITIES } from '../run/shards.js';
import { type Role, STAGES, stageSchema } from './chain.js';
import { containersSchema, runLimitsSchema } from './execution.js';
import { identityOf } from './identity.js';
import { choice, withoutRemoved } from './removed.js';

export const SANDBOXES = ['auto', 'docker', 'wasm'] as const;
export type SandboxKind = (typeof SANDBOXES)[number];

const positiveInt = z.int().positive();
const share = z.number().min(0).max(1);
const batchSchema = (problems: number) =>
  z.strictObject({ problems: positiveInt.default(problems), samples: positiveInt.default(4) }).prefault({});
/** How the projections of a model are stored. */
export const QUANTIZATIONS = ['none', 'int8', 'int4'] as const;

const stagesSchema = z
  .array(stageSchema)
  .min(1)
  .refine(
    (stages) => stages.every((stage, i) => i === 0 || stage > stages[i - 1]!),
    'must be in ascending order, each stage once',
  );

/** The stages of a chain. */
/** `tiny` is for the shipped model. `evalplus` is the protocol of the published scores on HumanEval and MBPP, and for code only. */
export const promptsSchema = z.enum(['tiny', 'instruct', 'evalplus']);

export const chainStagesSchema = stagesSchema.refine((stages) => stages.at(-1) === 5, 'must end with 5, the code');

const loraSchema = z.strictObject({
  rank: positiveInt.default(16),
  alpha: z.number().positive().default(32),
  dropout: z.number().min(0).lt(1).default(0.05), // share of the LoRA inputs that training drops
});

const ppoSchema = z.strictObject({
  clip: z.number().positive().default(0.2), // ε of the clipped surrogate
  clipHigh: z.number().positive().nullable().default(null), // ε above 1; null: as `clip`
  average: z.enum(['token', 'sequence']).default('token'),
  entropyBonus: z.number().nonnegative().default(0),
  klCoefficient: z.number().nonnegative().default(0), // weight of the KL penalty against the base
  epochs: positiveInt.default(2),
  minibatch: positiveInt.default(32), // sequences per minibatch
  learningRate: z.number().positive().default(1e-5),
  schedule: z.enum(['constant', 'linear', 'cosine']).default('constant'), // how the rate falls to 0 after the warm-up
  warmupSteps: z.int().nonnegative().default(3),
  betas: z.tuple([z.number().min(0).lt(1), z.number().min(0).lt(1)]).default([0.9, 0.999]),
  weightDecay: z.number().nonnegative().default(0.01),
  maxGradNorm: z.number().positive().default(1),
});

const advantageSchema = z.strictObject({
  negativeWeight: share.default(1), // multiplies negative advantages
});

/** The default of `engine.activationMegabytes` for device cuda: 8 chains of 700 tokens of SmolLM2-135M. */
export const CUDA_ACTIVATION_MEGABYTES = 16_000;

export const DEVICES = ['cpu', 'cuda', 'auto'] as const;

/** The types of numbers that layers compute with. */
export const PRECISIONS = ['f32', 'f16', 'bf16'] as const;

/** How a worker opens the base model. core/schema/identity.ts lists the fields that change no result. */
const engineSchema = z.strictObject({
  device: choice(DEVICES, ['webgpu']).default('cpu'),
  quantization: z.enum(QUANTIZATIONS).default('none'), // how the base model's projections are stored
  precision: z.enum(PRECISIONS).optional(), // type of the numbers in scores, gradients and, on cuda, sampling; absent: f32
  checkpointing: z.boolean().nullable().default(null), // null: only if activations need much memory
  shards: positiveInt.max(64).default(1), // the number of parts of a batch that gpu workers compute at the same time
  activationMegabytes: positiveInt.optional(), // memory of sequences that are trained together; absent: the rule for CPUs
  decoderRows: positiveInt.max(256).optional(), // rows that a GPU samples at the same time; absent: 64
  gpuGigabytes: positiveInt.optional(), // memory of the card that a preset chooses settings for; absent: 24
});

const rewardSchema = z.strictObject({
  scheme: choice(['shifted', 'all-tests', 'code-a1', 'discrimination'], ['composite', 'mutation', 'zero-sum']).default(
    'all-tests',
  ),
  archive: z.strictObject({ enabled: z.boolean().default(true) }).prefault({}), // keeps faulty chains
});

const limit = z.number().positive().nullable().default(null); // null: no limit

/** Limits of a whole run. It stops before a step that would exceed one. */
const budgetSchema = z.strictObject({
  tokens: limit, // the number of sampled tokens
  seconds: limit, // time of activities
});

/** What happens after a failure that a retry cannot fix. */
const failureSchema = z.strictObject({
  onFailure: z.enum(['wait', 'fail']).default('wait'), // wait: a user decides
  waitHours: z.number().positive().default(72), // without a decision for this time, the run fails
  attempts: positiveInt.nullable().default(null), // how often an activity with an infrastructure fault is tried; null: no limit
});

/** The checkpoint that a run starts from, instead of new adapters. */
const startSchema = z.strictObject({
  run: z.string().min(1), // an id, or a prefix and *: the matching run with the highest best score, if one fits
  checkpoint: z.string().min(1).default('best'), // 'best', 'latest' or a name
  schedule: z.enum(['whole', 'rest']).default('whole'), // rest: the steps after the checkpoint
});

/** Training rollouts from a server with OpenAI's API and vLLM's extensions. */
export const rolloutsSchema = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/, error: 'must be a URL, such as http://127.0.0.1:8000' })
    .refine((url) => !/\/\/[^/]*@/.test(url), 'must not contain a password: use GAUNTLET_ROLLOUTS_API_KEY'),
  adapters: z.string().startsWith('/', 'must be an absolute path'), // a folder that the server reads at the same path
  timeoutSeconds: z.number().positive().max(43_200).default(1800), // longest time for a batch
  maxKl: z.number().positive().default(0.05), // nats per token; a batch with a larger mismatch is refused
});

const stepCount = z.int().nonnegative().max(10_000); // limited, because the state of a run lists all steps

/** Variables that the renderer of a chat template sets itself. */
const RENDERED = ['messages', 'add_generation_prompt', 'bos_token', 'eos_token', 'pad_token', 'unk_token'];

/** Arguments for a model's chat template, like `enable_thinking: false`. */
export const templateArgumentsSchema = z.record(
  z
    .string()
    .regex(/^[A-Za-z_]\w*$/, 'must be the name of a variable')
    .refine((name) => !RENDERED.includes(name), 'is set by the conversation'),
  z.union([z.string(), z.number(), z.boolean(), z.null()], 'must be a string, a number, true, false or null'),
);
export type TemplateArguments = z.infer<typeof templateArgumentsSchema>;

const fieldsSchema = z.strictObject({
  preset: z.string().default('custom'),
  seed: z.int().nonnegative().default(0),
  seedFromRun: z.boolean().default(false), // derive the seed from the run id, so that scheduled runs differ
  model: z.string().default('tiny'), // 'tiny' or 'nested' (shipped), a folder in Hugging Face layout, or an id of the hub
  templateArguments: templateArgumentsSchema.default({}), // passed to the chat template of both roles
  problems: z.string().default('tiny'), // 'tiny', 'nested' or 'steps' (built in), 'steps:3', 'steps:1-2', or a problem file
  reference: z.literal('none').optional(), // the sampled programs vote on generated tests; absent: references judge them
  healthGate: z.union([z.boolean(), z.literal('again')]).default(true), // leave out problems whose reference fails its own tests; again: ignore stored verdicts
  prompts: promptsSchema.default('instruct'),
  mode: z.enum(['two-adapters', 'unified']).default('two-adapters'), // unified: one adapter plays both roles
  stages: chainStagesSchema.default([...STAGES]),
  schedule: z
    .strictObject({
      stages: stagesSchema.default([...STAGES]), // the stages to train, one after another
      discriminatorSteps: stepCount.default(10), // N steps per stage
      generatorSteps: stepCount.default(10), // N steps per stage
      alternatingSteps: stepCount.default(5), // K steps per stage, generator first
      epochSteps: positiveInt.nullable().default(null), // how many of the N steps lie between two checkpoints; null: all
    })
    .prefault({}),
  batch: z
    .strictObject({
      generator: batchSchema(32),
      discriminator: batchSchema(16),
    })
    .prefault({}),
  // null: the value in the model's generation_config.json
  sampling: z
    .strictObject({
      temperature: z.number().positive().nullable().default(0.7),
      maxNewTokens: positiveInt.default(512), // limit per stage
      maxTestTokens: positiveInt.default(512), // limit per discriminator turn
      // evaluation and solving use these filters; training samples from the whole tempered distribution
      topP: z.number().positive().max(1).nullable().default(0.9),
      topK: z.int().nonnegative().nullable().default(0), // 0: no limit
      repetitionPenalty: z.number().min(1).nullable().default(1), // 1: no penalty
    })
    .prefault({}),
  testsPerTurn: positiveInt.max(5).default(3),
  testTurns: positiveInt.default(1), // discriminator turns for each stage of the chain that a generator step tests
  // supervised steps before the first stage: reference solutions, and tests with the references' answers
  warmStart: z
    .strictObject({
      discriminatorSteps: stepCount.default(0), // the most steps of this role; 0: no warm start
      generatorSteps: stepCount.default(0),
      learningRate: z.number().positive().default(5e-4),
      patience: positiveInt.default(2), // a role stops after this many steps without a lower validation loss
    })
    .prefault({}),
  discriminator: z
    .strictObject({
      enabled: z.boolean().default(true), // false: only baseline tests judge programs
      model: z.string().nullable().default(null), // null: the generator's base
      // where the expected value of a test comes from. reference: the discriminator writes inputs only
      expected: z.enum(['model', 'reference']).default('model'),
      // random: inputs near those of baseline tests; dictionary: also constants; search: reads the program and the reference
      writer: choice(['model', 'random', 'dictionary', 'search'], ['hybrid']).default('model'),
      targets: z.enum(['one', 'all']).default('one'), // how many samples of a problem get tests of their own in training
      trained: z.boolean().default(true), // false: the discriminator writes tests, but is not updated
    })
    .prefault({}),
  adapters: z.enum(['shared', 'per-stage']).default('shared'), // per-stage: a stage keeps its adapter when the next one begins
  lora: loraSchema.prefault({}),
  ppo: ppoSchema.prefault({}),
  advantage: advantageSchema.prefault({}),
  credit: choice(['stage', 'suffix'], ['counterfactual']).default('suffix'), // which stages a generator step trains
  reward: rewardSchema.prefault({}),
  evaluation: z
    .strictObject({
      problems: positiveInt.default(64), // size of the evaluation on the validation split, after every epoch
      testProblems: positiveInt.default(400), // size of the evaluation on the test split, before and after the run
      temperature: z.number().positive().default(0.8),
    })
    .prefault({}),
  sandbox: z.enum(SANDBOXES).default('auto'),
  containers: containersSchema.prefault({}), // settings of the Docker backend
  limits: runLimitsSchema.prefault({}),
  engine: engineSchema.prefault({}),
  rollouts: rolloutsSchema.optional(), // absent: the worker's engine samples
  start: startSchema.nullable().default(null),
  budget: budgetSchema.prefault({}),
  failure: failureSchema.prefault({}),
});

const checkedSchema = fieldsSchema
  .refine(({ stages, schedule }) => schedule.stages.every((stage) => stages.includes(stage)), {
    path: ['schedule', 'stages'],
    message: 'must be a subset of the field stages',
  })
  .refine(({ mode, discriminator }) => mode !== 'unified' || discriminator.model === null, {
    path: ['discriminator', 'model'],
    message: "cannot be set in mode 'unified', because one adapter fits one base",
  })
  .refine(({ rollouts, discriminator }) => rollouts === undefined || discriminator.model === null, {
    path: ['discriminator', 'model'],
    message: 'cannot be set with rollouts, because a server has one base',
  })
  .refine(({ discriminator: { writer, expected } }) => writer === 'model' || expected === 'reference', {
    path: ['discriminator', 'writer'],
    message: 'random, dictionary and search need discriminator.expected: reference',
  })
  .superRefine((config, context) => {
    const message = tooManyActivities(config);
    if (message !== undefined) context.addIssue({ code: 'custom', path: ['engine', 'shards'], message });
  });

const DEFAULTS = fieldsSchema.parse({});
export const runConfigSchema = z.preprocess(
  (fields, context) => withoutRemoved(fields, DEFAULTS, context),
  checkedSchema,
);
export type RunConfig = z.infer<typeof runConfigSchema>;
export type RunConfigInput = z.input<typeof fieldsSchema>;
export type PromptStyle = RunConfig['prompts'];
export type EngineConfig = RunConfig['engine'];
export type RolloutsConfig = z.infer<typeof rolloutsSchema>;

/** The reason if the Temporal server's history has no room for the activities of a step; otherwise undefined. */
function tooManyActivities(config: z.infer<typeof fieldsSchema>): string | undefined {
  const { engine, batch, discriminator, ppo } = config;
  if (engine.shards === 1) return undefined;
  const roles: Role[] = trainsDiscriminator(config) ? ['generator', 'discriminator'] : ['generator'];
  const groupsOf = (role: Role): number => {
    const { problems, samples } = batch[role];
    return role === 'discriminator' && discriminator.targets === 'all' ? problems * samples : problems;
  };
  const counts = roles.map((role) => countMinibatches(groupsOf(role) * batch[role].samples, ppo));
  const most = Math.max(...counts);
  const activities = countStepActivities(engine.shards, most);
  if (activities <= MAX_STEP_ACTIVITIES) return undefined;
  const fields = `ppo.epochs × batch.${roles[counts.indexOf(most)]} / ppo.minibatch`;
  return `${engine.shards} shards of ${most} minibatches (${fields}) make ${activities} activities in a step, more than ${MAX_STEP_ACTIVITIES}: lower it, or raise ppo.minibatch`;
}

/**
 * The part of the configuration that results depend on: without device settings, budget and failure handling, but with fields of
 * earlier versions that were removed.
 */
export const runIdentity = (config: RunConfig): RunConfig => identityOf(config) as RunConfig;

/** Whether the discriminator is a model that learns. */
export const trainsDiscriminator = ({ discriminator }: Pick<RunConfig, 'discriminator'>): boolean =>
  discriminator.enabled && discriminator.trained && discriminator.writer === 'model';

/** The base model of a role. */
export function modelOf({ model, discriminator }: Pick<RunConfig, 'model' | 'discriminator'>, role: Role): string {
  return role === 'discriminator' ? (discriminator.model ?? model) : model;
}

/** The role whose adapter is used for `role`. */
export function adapterRole({ mode }: Pick<RunConfig, 'mode'>, role: Role): Role {
  return mode === 'unified' ? 'generator' : role;
}
