// The identity of a configuration: the part that results depend on. Its digest is in the keys of finished work, so equal
// configurations must have equal identities in all versions.
import { isPlainObject, merged } from '../config/objects.js';

export type Fields = Record<string, unknown>;

/**
 * The identity of `{preset: 'custom'}`, as version 0.3.0 wrote it. Never change it: an identity is this table with the
 * fields in which a configuration differs. A field that was removed stays here, so a removal changes no digest.
 */
export const FROZEN = {
  preset: 'custom',
  seed: 0,
  seedFromRun: false,
  model: 'tiny',
  templateArguments: {},
  problems: 'tiny',
  healthGate: true,
  prompts: 'instruct',
  mode: 'two-adapters',
  stages: [1, 2, 3, 4, 5],
  schedule: {
    stages: [1, 2, 3, 4, 5],
    discriminatorSteps: 10,
    generatorSteps: 10,
    alternatingSteps: 5,
    epochSteps: null,
    simultaneous: false,
  },
  batch: { generator: { problems: 32, samples: 4 }, discriminator: { problems: 16, samples: 4 } },
  curriculum: false,
  sampling: { temperature: 0.7, maxNewTokens: 512, maxTestTokens: 512, topP: 0.9, topK: 0, repetitionPenalty: 1 },
  testsPerTurn: 3,
  testTurns: 1,
  warmStart: { discriminatorSteps: 0, generatorSteps: 0, problems: 32, minibatch: 8, learningRate: 5e-4, patience: 2 },
  discriminator: {
    enabled: true,
    model: null,
    templateArguments: null,
    expected: 'model',
    writer: 'model',
    trained: true,
    seesWork: true,
  },
  adapters: 'shared',
  lora: { rank: 16, alpha: 32, dropout: 0.05 },
  ppo: {
    clip: 0.2,
    clipHigh: null,
    average: 'token',
    entropyBonus: 0,
    klCoefficient: 0,
    epochs: 2,
    minibatch: 32,
    learningRate: 1e-5,
    schedule: 'constant',
    warmupSteps: 3,
    finalFactor: 0,
    betas: [0.9, 0.999],
    eps: 1e-8,
    weightDecay: 0.01,
    maxGradNorm: 1,
  },
  advantage: {
    estimator: 'group',
    stdOffset: 0.05,
    negativeWeight: 1,
    dropZeroVariance: true,
    gamma: 1,
    lambda: 0.95,
    valueCoefficient: 0.5,
    valueClip: 0.2,
  },
  selfRepair: false,
  credit: 'suffix',
  reward: {
    scheme: 'all-tests',
    weights: { valid: 0.4, invalid: 0.6, caught: 0.6 },
    diversityCredit: true,
    archive: { enabled: true, size: 400, replay: 0.7 },
  },
  evaluation: { problems: 64, testProblems: 400, temperature: 0.8 },
  sandbox: 'auto',
  containers: { isolation: 'uid', packages: 'none', image: null, runtime: null, size: null },
  limits: { cpuSeconds: 2, caseCpuSeconds: 1, wallSeconds: 10, memoryMb: 256, outputBytes: 1_000_000 },
  engine: {
    device: 'cpu',
    quantization: 'none',
    groupSize: 32,
    checkpointing: null,
    kvCacheMegabytes: null,
    threads: null,
    force: false,
    shards: 1,
  },
  start: null,
  budget: { tokens: null, seconds: null, executions: null },
  failure: { onFailure: 'wait', waitHours: 72, attempts: null },
  typeCheck: { enabled: false, weight: 0 },
};

/**
 * Values that are not written: a field of the table keeps its value, and another field stays absent. A new field with a
 * default needs a line here, which goes only with the field.
 */
const UNWRITTEN = new Map<string, unknown>([
  ['healthGate', 'again'],
  ['engine.precision', 'f32'],
  ['discriminator.targets', 'one'],
]);

/** Fields that change no result: limits of a run, and where and how its work is computed. */
const WITHOUT_EFFECT = [
  'budget',
  'failure',
  'engine.device',
  'engine.checkpointing',
  'engine.shards',
  'engine.gpuGigabytes',
];

/** Removed fields of a group that is absent by default. An identity with the group has them. */
export const FROZEN_ROLLOUTS = { concurrency: 32, maxWeight: 2 };

export const identityOf = (config: { rollouts?: unknown }): Fields =>
  merged(config.rollouts === undefined ? FROZEN : { ...FROZEN, rollouts: FROZEN_ROLLOUTS }, written(config));

/** The fields of a configuration that its identity has. */
function written(fields: object, parent = ''): Fields {
  const kept = Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
    const path = `${parent}${name}`;
    if (WITHOUT_EFFECT.includes(path)) return [];
    if (UNWRITTEN.has(path) && isSame(UNWRITTEN.get(path), value)) return [];
    return [[name, isPlainObject(value) ? written(value, `${path}.`) : value]];
  });
  return Object.fromEntries(kept);
}

export const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
