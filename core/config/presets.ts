// Presets, and the validation of untrusted input: a RunConfig is a preset with overridden fields.
import { GauntletError } from '../base/errors.js';
import { parseAs } from '../base/issues.js';
import { CUDA_ACTIVATION_MEGABYTES, type RunConfig, type RunConfigInput, runConfigSchema } from '../schema/config.js';
import { isPlainObject, merged, refusePrototypes } from './objects.js';

/** Trains the embedded model in minutes on a CPU. docs/notebook.md has the measurements behind every value. */
const TINY: RunConfigInput = {
  model: 'tiny',
  problems: 'tiny',
  prompts: 'tiny',
  schedule: { discriminatorSteps: 3, generatorSteps: 3, alternatingSteps: 4 },
  sampling: { temperature: 1, maxNewTokens: 96, maxTestTokens: 128, topP: 1 }, // at temperature 0.8, samples differ too little
  testsPerTurn: 2,
  testTurns: 4, // with fewer, tests seldom show an error at a boundary
  lora: { rank: 8, alpha: 16, dropout: 0 },
  ppo: { learningRate: 2e-3, schedule: 'linear', betas: [0.9, 0.99], weightDecay: 0 },
};

/** Trains on a harder problem family, with that family's base model. The experiments use this preset. */
const NESTED: RunConfigInput = {
  ...TINY,
  model: 'nested',
  problems: 'nested',
  sampling: { ...TINY.sampling, maxTestTokens: 288 },
};

/**
 * Trains a public model of the Hugging Face hub. On two CPU cores, a step of 0.5 B parameters takes minutes, on a base in four bits.
 * The reference solutions say what tests expect, because few of the values that models of this size expect are right.
 * docs/train-qwen2.5-coder.md has the memory and the time of each model.
 */
const PUBLIC: RunConfigInput = {
  problems: 'steps',
  schedule: { discriminatorSteps: 2, generatorSteps: 4, alternatingSteps: 4 },
  batch: { generator: { problems: 2 }, discriminator: { problems: 2 } },
  sampling: { temperature: 0.8, maxNewTokens: 256, maxTestTokens: 192, topP: null, topK: null },
  discriminator: { expected: 'reference' },
  reward: { scheme: 'shifted' }, // with all-tests, all programs of most groups earned the same
  lora: { dropout: 0 },
  ppo: { learningRate: 1e-4, epochs: 1, weightDecay: 0 },
  engine: { quantization: 'int4' },
  evaluation: { problems: 8, testProblems: 32 },
};

const QWEN_SMALL = { ...PUBLIC, model: 'Qwen/Qwen2.5-Coder-0.5B-Instruct' };

export const PRESETS = {
  tiny: TINY,
  'tiny-no-discriminator': { ...TINY, discriminator: { enabled: false } },
  nested: NESTED,
  // this model is too small to reason in stages; docs/results.md has its figures
  'smollm2-135m': {
    ...PUBLIC,
    model: 'HuggingFaceTB/SmolLM2-135M-Instruct',
    stages: [5],
    schedule: { discriminatorSteps: 2, generatorSteps: 30, epochSteps: 10 },
    batch: { generator: { problems: 24 }, discriminator: { problems: 12 } },
    sampling: { temperature: 1, maxNewTokens: 96, maxTestTokens: 80, topP: 1 },
    warmStart: { discriminatorSteps: 3, generatorSteps: 16, patience: 4 },
    advantage: { negativeWeight: 0 },
    reward: { scheme: 'all-tests' },
    // 5e-4 harms, and so do negative advantages. docs/notebook.md compares the settings.
    ppo: { learningRate: 3e-4, schedule: 'linear', weightDecay: 0, minibatch: 24, maxGradNorm: 0.5 },
    engine: { quantization: 'none' },
    evaluation: { problems: 48, testProblems: 119, temperature: 1 },
  },
  'qwen-0.5b': QWEN_SMALL,
  'qwen3-0.6b': {
    ...PUBLIC,
    model: 'Qwen/Qwen3-0.6B',
    templateArguments: { enable_thinking: false },
    engine: { quantization: 'none' },
  },
  'llama-1b': { ...PUBLIC, model: 'meta-llama/Llama-3.2-1B-Instruct' },
  'qwen-1.5b': { ...PUBLIC, model: 'Qwen/Qwen2.5-Coder-1.5B-Instruct' },
  'qwen-7b': { ...PUBLIC, model: 'Qwen/Qwen2.5-Coder-7B-Instruct' },
  // the method of Code-A1 (arXiv 2603.15611) with its 8 programs of a problem and 8 turns for each, but with fewer problems
  'code-a1-small': {
    ...QWEN_SMALL,
    stages: [5],
    schedule: { discriminatorSteps: 0, generatorSteps: 0, alternatingSteps: 200 },
    batch: { generator: { problems: 2, samples: 8 }, discriminator: { problems: 2, samples: 8 } },
    sampling: { ...PUBLIC.sampling, temperature: 1, maxTestTokens: 256 },
    testsPerTurn: 5,
    testTurns: 8,
    discriminator: { expected: 'model', targets: 'all' },
    reward: { scheme: 'code-a1' },
    ppo: { ...PUBLIC.ppo, clipHigh: 0.28, klCoefficient: 0.001, schedule: 'cosine', warmupSteps: 10, weightDecay: 0.1 },
  },
} as const satisfies Record<string, RunConfigInput>;

export type PresetName = keyof typeof PRESETS;
export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[];

const ON_GPU = { precision: 'f16', quantization: 'none' } as const;
const RECOMPUTED = { ...ON_GPU, checkpointing: true };
const LARGE_PARTS = { ...ON_GPU, activationMegabytes: 48_000 };
const SMALL_CARDS = { 8: RECOMPUTED, 12: RECOMPUTED, 24: ON_GPU, 80: LARGE_PARTS };

/**
 * Settings of `engine` on an NVIDIA card, by its memory in GB. They are computed, see ml/engine/cardPlan.ts: no card has run them. A
 * smaller card recomputes activations, which changes no result, or samples fewer rows at a time.
 */
export const CARDS: Partial<Record<PresetName, Record<number, NonNullable<RunConfigInput['engine']>>>> = {
  'qwen-0.5b': SMALL_CARDS,
  'qwen-1.5b': { 8: { ...RECOMPUTED, decoderRows: 16 }, 12: RECOMPUTED, 24: ON_GPU, 80: LARGE_PARTS },
  'qwen-7b': { 24: { ...RECOMPUTED, decoderRows: 16 }, 80: LARGE_PARTS },
  'code-a1-small': SMALL_CARDS,
};
export const DEFAULT_GIGABYTES = 24;

/** The largest size in CARDS that a card with this many GB reaches. Undefined if the card is too small. */
export const cardFor = (preset: PresetName, gigabytes: number): number | undefined =>
  Object.keys(CARDS[preset] ?? {})
    .map(Number)
    .filter((size) => size <= gigabytes)
    .at(-1);

/** The fields that a preset sets for the card of a run. @throws GauntletError BAD_CONFIG if the preset needs a larger card */
function cardFields(preset: string, engine: unknown): object {
  const sizes = Object.hasOwn(CARDS, preset) ? CARDS[preset as PresetName] : undefined;
  if (!sizes || !isPlainObject(engine) || engine.device !== 'cuda') return {};
  const { gpuGigabytes = DEFAULT_GIGABYTES } = engine;
  if (typeof gpuGigabytes !== 'number') return {}; // the schema refuses this value later
  const size = cardFor(preset as PresetName, gpuGigabytes);
  if (size !== undefined) return { engine: sizes[size] };
  const fitting = PRESET_NAMES.filter((name) => cardFor(name, gpuGigabytes) !== undefined);
  throw new GauntletError(
    'BAD_CONFIG',
    `engine.gpuGigabytes: preset ${preset} needs a card of ${Object.keys(sizes)[0]} GB, is ${gpuGigabytes}; ` +
      `${fitting.length > 0 ? `presets that fit: ${fitting.join(', ')}` : 'no preset fits'}; device cpu needs no card`,
  );
}

/**
 * `input` is undefined or an object of RunConfig fields, including `preset`. The default preset is 'tiny'; 'custom'
 * starts from the schema's defaults.
 * @throws GauntletError BAD_CONFIG, one line that names the field and the allowed values
 */
export function resolveConfig(input?: unknown): RunConfig {
  if (input !== undefined && input !== null && !isPlainObject(input)) {
    throw new GauntletError('BAD_CONFIG', `the configuration must be an object of fields, not ${kindOf(input)}`);
  }
  const given = input ?? {};
  refusePrototypes(given);
  const preset = given.preset ?? 'tiny';
  if (typeof preset !== 'string') {
    throw new GauntletError('BAD_CONFIG', `preset: must be a name, one of ${PRESET_NAMES.join(', ')}, custom`);
  }
  const base = presetFields(preset);
  const { engine } = merged(base, given);
  const fields = merged(merged(base, cardFields(preset, engine)), given);
  const config = parseAs(runConfigSchema, { ...fields, schedule: trainedStages(fields), preset }, 'BAD_CONFIG');
  const { device, activationMegabytes } = config.engine;
  if (device !== 'cuda' || activationMegabytes !== undefined) return config;
  return { ...config, engine: { ...config.engine, activationMegabytes: CUDA_ACTIVATION_MEGABYTES } };
}

function presetFields(preset: string): Record<string, unknown> {
  if (preset === 'custom') return {};
  if (Object.hasOwn(PRESETS, preset)) return PRESETS[preset as PresetName] as Record<string, unknown>;
  throw new GauntletError('BAD_CONFIG', `preset: unknown '${preset}'; known: ${PRESET_NAMES.join(', ')}, custom`);
}

/** Completes the schedule: by default, all stages of the chain are trained. */
function trainedStages({ schedule = {}, stages }: Record<string, unknown>): unknown {
  return stages !== undefined && isPlainObject(schedule) ? { stages, ...schedule } : schedule;
}

const kindOf = (value: unknown): string => (Array.isArray(value) ? 'a list' : `a ${typeof value}`);
