// The identity of a configuration is the same in all versions, and old configurations stay readable.
import assert from 'node:assert/strict';
import { PRESET_NAMES, resolveConfig } from '../../core/config/presets.js';
import { runConfigSchema, runIdentity } from '../../core/schema/config.js';
import { FROZEN } from '../../core/schema/identity.js';
import { digestJson } from '../../store/canonicalJson.js';

/** What the presets of public models were until 0.4.0. */
const before = (preset: string, quantization: string) => ({
  preset,
  schedule: { discriminatorSteps: 4, generatorSteps: 6, alternatingSteps: 6 },
  batch: { generator: { problems: 8 }, discriminator: { problems: 8 } },
  sampling: { maxTestTokens: 128 },
  warmStart: { discriminatorSteps: 3, generatorSteps: 12 },
  ppo: { learningRate: 2e-4, epochs: 2 },
  reward: { scheme: 'all-tests' },
  engine: { quantization },
  evaluation: { problems: 32, testProblems: 96 },
});

/** The first digits of digests that version 0.3.0 computed for presets, optional fields and other settings. */
const DIGESTS: [string, { preset?: string; [field: string]: unknown }][] = [
  ['e88cd6a4f357ecdf', { preset: 'tiny' }],
  ['a568c7c23ad721c5', { preset: 'tiny-no-discriminator' }],
  ['be37eeaf943c1e81', { preset: 'nested' }],
  ['2e72968860541935', { preset: 'smollm2-135m' }],
  ['2b04fbb38abea60e', before('qwen-0.5b', 'none')],
  ['54f6945bb8318f1a', before('qwen3-0.6b', 'none')],
  ['79ca35c2065bb581', before('llama-1b', 'int8')],
  ['e8149698f967c2b3', before('qwen-1.5b', 'int8')],
  ['eb076935fc5b4349', before('qwen-7b', 'int4')],
  ['74c7ca44253efa10', { preset: 'code-a1-small' }], // new in 0.4.0
  ['a54b7bf6a8feee1a', { preset: 'custom' }],
  ['99dae72ce5885cdb', { reference: 'none' }],
  ['e88cd6a4f357ecdf', { healthGate: 'again' }],
  ['3c1466344b32ea1d', { healthGate: false }],
  ['e88cd6a4f357ecdf', { batch: { refill: 0 } }],
  ['e88cd6a4f357ecdf', { discriminator: { tests: 'values' } }],
  ['e88cd6a4f357ecdf', { engine: { precision: 'f32' } }],
  ['5ed14113c14ee336', { engine: { precision: 'f16', quantization: 'int8', groupSize: 32 } }],
  ['c879f1f52c659cef', { engine: { activationMegabytes: 9000 } }],
  ['f2706d44706e6b46', { engine: { decoderRows: 16 } }],
  [
    '7ad43b0179ca21b6',
    {
      engine: {
        device: 'cuda',
        gpuGigabytes: 80,
        checkpointing: true,
        shards: 2,
      },
    },
  ],
  ['ae108cd8d994234f', { ...before('qwen-1.5b', 'none'), engine: { device: 'cuda', gpuGigabytes: 8 } }],
  ['951c7ce15dd26982', { rollouts: { endpoint: 'http://127.0.0.1:8000', adapters: '/shared', concurrency: 32 } }],
  ['e88cd6a4f357ecdf', { budget: { tokens: 10 }, failure: { onFailure: 'fail', attempts: 3 } }],
  ['d9ab6c5d683d0abc', { start: { run: 'earlier' } }],
  ['bcceaa6f2c15e495', { ...before('qwen3-0.6b', 'none'), discriminator: { model: 'owner/name' } }],
  ['00d715c344242c06', { seed: 7, seedFromRun: true, problems: 'steps:1-2', mode: 'unified' }],
  ['d4eb167325379844', { stages: [1, 3, 5], adapters: 'per-stage', credit: 'stage' }],
  [
    '5a51305f1963472b',
    {
      ppo: {
        clipHigh: 0.3,
        average: 'sequence',
        entropyBonus: 0.01,
        klCoefficient: 0.1,
        epochs: 1,
        betas: [0.8, 0.99],
      },
    },
  ],
  [
    '645eb334c1df1c51',
    { reward: { scheme: 'code-a1', archive: { enabled: false } }, advantage: { negativeWeight: 0.5 } },
  ],
  [
    'efd493c657128513',
    {
      warmStart: { discriminatorSteps: 1, generatorSteps: 2, learningRate: 0.001, patience: 3 },
      discriminator: { trained: false },
    },
  ],
  ['b084b9ff85bc79ed', { sandbox: 'wasm', containers: { packages: 'numpy' }, limits: { cpuSeconds: 5 } }],
  [
    '21c31dde37ab6493',
    { sampling: { temperature: null, topP: null, topK: 5, repetitionPenalty: 1.1 }, testsPerTurn: 5, testTurns: 2 },
  ],
  [
    'b1e81ee30a71c9df',
    {
      preset: 'nested',
      discriminator: { expected: 'reference', writer: 'random' },
      evaluation: { problems: 3, temperature: 1 },
    },
  ],
];

describe('the identity of a configuration', () => {
  it('has the digest that version 0.3.0 computed', () => {
    for (const [digest, input] of DIGESTS)
      assert.equal(digestJson(runIdentity(resolveConfig(input))).slice(7, 23), digest, JSON.stringify(input));
    const presets = new Set(DIGESTS.map(([, { preset }]) => preset));
    for (const preset of PRESET_NAMES) assert.ok(presets.has(preset), preset);
  });

  it('is the same after the configuration was written and read', () => {
    for (const [, input] of DIGESTS) {
      const identity = runIdentity(resolveConfig(input));
      assert.deepEqual(runIdentity(runConfigSchema.parse(identity)), identity);
    }
    assert.deepEqual(runIdentity(runConfigSchema.parse(FROZEN)), FROZEN);
  });
});

describe('a removed field of a configuration', () => {
  const refusal = (input: object): string => {
    try {
      resolveConfig(input);
    } catch (error) {
      return (error as Error).message;
    }
    return 'accepted';
  };
  const always = (value: string): string =>
    `was removed, and is now always ${value}: leave it out, or use the version that the run began with`;

  it('is dropped if it has the value that all runs have now', () => {
    const { typeCheck } = FROZEN;
    assert.deepEqual(resolveConfig({ typeCheck }), resolveConfig());
    assert.deepEqual(resolveConfig({ typeCheck: { enabled: false } }), resolveConfig());
    assert.ok(!('typeCheck' in resolveConfig({ typeCheck })));
  });

  it('is refused in one line that names its place if it has another value', () => {
    assert.equal(
      refusal({ advantage: { estimator: 'gae', lambda: 0.5 } }),
      `advantage.estimator: ${always('"group"')}; advantage.lambda: ${always('0.95')}`,
    );
    assert.equal(
      refusal({ reward: { weights: { valid: 1 } } }),
      `reward.weights: ${always('{"valid":0.4,"invalid":0.6,"caught":0.6}')}`,
    );
    assert.equal(
      refusal({ credit: 'counterfactual' }),
      'credit: counterfactual was removed: use stage, suffix, or the version that the run began with',
    );
    for (const typeCheck of [{ enabled: true }, { other: 1 }, null])
      assert.equal(refusal({ typeCheck }), `typeCheck: ${always('{"enabled":false,"weight":0}')}`);
  });
});
