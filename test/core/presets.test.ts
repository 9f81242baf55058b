import assert from 'node:assert/strict';
import { GauntletError } from '../../core/base/errors.js';
import { PRESET_NAMES, resolveConfig } from '../../core/config/presets.js';
import { adapterRole, type EngineConfig, modelOf, runIdentity } from '../../core/schema/config.js';

function refusal(input: unknown): string {
  try {
    resolveConfig(input);
  } catch (error) {
    assert.ok(error instanceof GauntletError);
    assert.equal(error.code, 'BAD_CONFIG');
    assert.ok(!error.message.includes('\n'));
    return error.message;
  }
  return assert.fail(`accepted ${JSON.stringify(input)}`);
}

describe('the resolution of presets', () => {
  it('uses the preset tiny without input', () => {
    const config = resolveConfig();
    assert.deepEqual(config, resolveConfig({ preset: 'tiny' }));
    assert.deepEqual(config, resolveConfig(null));
    assert.deepEqual(config, resolveConfig({}));
    assert.equal(config.preset, 'tiny');
    assert.deepEqual(config.schedule, {
      stages: [1, 2, 3, 4, 5],
      discriminatorSteps: 3,
      generatorSteps: 3,
      alternatingSteps: 4,
      epochSteps: null,
    });
    assert.deepEqual(config.batch, {
      generator: { problems: 32, samples: 4 },
      discriminator: { problems: 16, samples: 4 },
    });
    assert.deepEqual(config.sampling, {
      temperature: 1,
      maxNewTokens: 96,
      maxTestTokens: 128,
      topP: 1,
      topK: 0,
      repetitionPenalty: 1,
    });
    assert.deepEqual([config.mode, config.stages], ['two-adapters', [1, 2, 3, 4, 5]]);
    assert.deepEqual([config.ppo.schedule, config.ppo.average, config.ppo.clipHigh], ['linear', 'token', null]);
    assert.deepEqual([config.ppo.entropyBonus, config.ppo.klCoefficient], [0, 0]);
    assert.deepEqual(config.lora, { rank: 8, alpha: 16, dropout: 0 });
    assert.deepEqual(
      [
        config.ppo.learningRate,
        config.ppo.betas,
        config.ppo.weightDecay,
        config.ppo.clip,
        config.ppo.epochs,
        config.ppo.minibatch,
        config.ppo.maxGradNorm,
        config.ppo.warmupSteps,
      ],
      [2e-3, [0.9, 0.99], 0, 0.2, 2, 32, 1, 3],
    );
    assert.deepEqual(
      [config.testsPerTurn, config.testTurns, config.prompts, config.credit, config.reward.scheme],
      [2, 4, 'tiny', 'suffix', 'all-tests'],
    );
    assert.deepEqual(config.reward.archive, { enabled: true });
  });

  it('changes only the discriminator in tiny-no-discriminator', () => {
    const { preset, discriminator, ...rest } = resolveConfig({ preset: 'tiny-no-discriminator' });
    const { preset: _preset, discriminator: with_, ...same } = resolveConfig({ preset: 'tiny' });
    assert.deepEqual(rest, same);
    assert.deepEqual([discriminator.enabled, with_.enabled, preset], [false, true, 'tiny-no-discriminator']);
  });

  it('uses the default values for custom', () => {
    const config = resolveConfig({ preset: 'custom' });
    assert.deepEqual(
      [config.schedule.discriminatorSteps, config.schedule.generatorSteps, config.schedule.alternatingSteps],
      [10, 10, 5],
    );
    assert.deepEqual(
      [config.ppo.learningRate, config.ppo.weightDecay, config.lora.rank, config.lora.alpha],
      [1e-5, 0.01, 16, 32],
    );
    assert.deepEqual([config.lora.dropout, config.sampling.topP, config.ppo.clip], [0.05, 0.9, 0.2]);
    assert.deepEqual(
      [config.sampling.temperature, config.sampling.maxNewTokens, config.prompts],
      [0.7, 512, 'instruct'],
    );
  });

  it('has presets of public models', () => {
    const models = PRESET_NAMES.map((preset) => resolveConfig({ preset })).filter(
      ({ problems }) => problems === 'steps',
    );
    assert.equal(models.length, 7);
    for (const { preset, model, prompts, discriminator, engine } of models) {
      assert.match(model, /^[\w-]+\/[\w.-]+$/);
      assert.deepEqual(
        [prompts, discriminator.expected],
        ['instruct', preset === 'code-a1-small' ? 'model' : 'reference'],
      );
      assert.equal(engine.quantization, /smollm|qwen3/.test(preset) ? 'none' : 'int4', preset);
    }
    assert.deepEqual(resolveConfig({ preset: 'qwen3-0.6b' }).templateArguments, { enable_thinking: false });
  });

  it('merges fields into the preset and replaces lists', () => {
    const config = resolveConfig({ preset: 'tiny', seed: 3, ppo: { learningRate: 0.5 }, schedule: { stages: [5] } });
    assert.equal(config.seed, 3);
    assert.deepEqual([config.ppo.learningRate, config.ppo.minibatch], [0.5, 32]);
    assert.deepEqual(resolveConfig({ preset: 'tiny', batch: { generator: { problems: 2 } } }).batch, {
      generator: { problems: 2, samples: 4 },
      discriminator: { problems: 16, samples: 4 },
    });
    assert.deepEqual([config.schedule.stages, config.schedule.generatorSteps], [[5], 3]);
    assert.equal(resolveConfig({ seed: 3, model: undefined }).model, 'tiny');
  });

  it('trains all stages of a chain by default', () => {
    const stages = (input: object) => resolveConfig(input).schedule.stages;
    assert.deepEqual(stages({}), [1, 2, 3, 4, 5]);
    assert.deepEqual(stages({ stages: [5] }), [5]);
    assert.deepEqual(stages({ stages: [1, 3, 5], schedule: { generatorSteps: 1 } }), [1, 3, 5]);
    assert.deepEqual(stages({ stages: [1, 3, 5], schedule: { stages: [3] } }), [3]);
  });

  it('excludes worker settings from the identity of a run', () => {
    const config = resolveConfig();
    const here = { device: 'auto', checkpointing: true };
    assert.deepEqual(runIdentity(resolveConfig({ engine: here })), runIdentity(config));
    const four = resolveConfig({ engine: { quantization: 'int4' } });
    assert.equal(runIdentity(four).engine.quantization, 'int4');
    const gpu = resolveConfig({ engine: { device: 'cuda' } });
    assert.deepEqual(gpu.engine.activationMegabytes, 16_000);
    assert.deepEqual(runIdentity(gpu).engine, { ...runIdentity(config).engine, activationMegabytes: 16_000 });
    assert.equal(resolveConfig({ engine: { device: 'cuda', activationMegabytes: 9 } }).engine.activationMegabytes, 9);
    assert.ok(!('activationMegabytes' in runIdentity(config).engine), 'absent, so digests of other runs are as before');
    const precise = (precision: string) => runIdentity(resolveConfig({ engine: { precision } })).engine.precision;
    assert.deepEqual(['f16', 'f32'].map(precise), ['f16', undefined]);
  });

  it('adds settings for a card, which depend on its memory and belong to the identity of a run', () => {
    const on = (gpuGigabytes?: number, more: object = {}, preset = 'qwen-1.5b') =>
      resolveConfig({ preset, engine: { device: 'cuda', gpuGigabytes, ...more } }).engine;
    const chosen = ({ precision, quantization, activationMegabytes, checkpointing, decoderRows }: EngineConfig) => [
      ...[precision, quantization, activationMegabytes, checkpointing, decoderRows],
    ];
    assert.deepEqual(chosen(on(8)), ['f16', 'none', 16_000, true, 16]);
    assert.deepEqual(chosen(on(12)), ['f16', 'none', 16_000, true, undefined]);
    assert.deepEqual(chosen(on(16)), chosen(on(12)), 'the next smaller one');
    assert.deepEqual(chosen(on(24)), ['f16', 'none', 16_000, null, undefined]);
    assert.deepEqual(chosen(on()), chosen(on(24)), 'the default');
    assert.deepEqual(chosen(on(96)), ['f16', 'none', 48_000, null, undefined]);
    assert.deepEqual(chosen(on(8, { precision: 'f32', decoderRows: 4 })), ['f32', 'none', 16_000, true, 4]);
    assert.deepEqual(chosen(on(24, {}, 'qwen-7b')), ['f16', 'none', 16_000, true, 16]);
    const onCpu = (engine: object) => runIdentity(resolveConfig({ preset: 'qwen-1.5b', engine }));
    assert.deepEqual(onCpu({ gpuGigabytes: 8 }), onCpu({}), 'a CPU has no card');
    assert.deepEqual(onCpu({}).engine.quantization, 'int4');
    const identity = (gpuGigabytes: number) =>
      runIdentity(resolveConfig({ preset: 'qwen-1.5b', engine: { device: 'cuda', gpuGigabytes } }));
    assert.deepEqual(identity(12), identity(24), 'recomputation changes no result');
    assert.equal(identity(8).engine.decoderRows, 16);
    assert.notDeepEqual(identity(24), identity(80));
    assert.throws(() => on(4), {
      code: 'BAD_CONFIG',
      message:
        'engine.gpuGigabytes: preset qwen-1.5b needs a card of 8 GB, is 4; no preset fits; device cpu needs no card',
    });
    assert.throws(() => on(0), { code: 'BAD_CONFIG', message: /engine\.gpuGigabytes/ });
  });

  it('uses one adapter in unified mode, and allows another base model for the discriminator', () => {
    const [two, one] = [resolveConfig(), resolveConfig({ mode: 'unified' })];
    assert.deepEqual(
      [adapterRole(two, 'discriminator'), adapterRole(one, 'discriminator')],
      ['discriminator', 'generator'],
    );
    const other = resolveConfig({ discriminator: { model: 'other' } });
    assert.deepEqual([modelOf(other, 'generator'), modelOf(other, 'discriminator')], ['tiny', 'other']);
    assert.equal(modelOf(two, 'discriminator'), 'tiny');
  });

  it('accepts template arguments, which belong to the identity of a run', () => {
    const thinking = resolveConfig({ templateArguments: { enable_thinking: false } });
    assert.notDeepEqual(runIdentity(thinking), runIdentity(resolveConfig()));
  });

  it('keeps a resolved configuration unchanged', () => {
    for (const input of [...PRESET_NAMES, 'custom'].map((preset) => ({ preset, stages: [2, 5] }))) {
      const config = resolveConfig(input);
      assert.deepEqual(resolveConfig(JSON.parse(JSON.stringify(config))), config);
    }
  });

  it('refuses more activities in a step than the history has room for', () => {
    const large = { generator: { problems: 500, samples: 16 } };
    const refused: [object, RegExp][] = [
      [
        { ppo: { minibatch: 1 } },
        /^engine\.shards: 64 shards of 256 minibatches \(ppo\.epochs × batch\.generator \/ ppo\.minibatch\) make 17320 activities in a step, more than 5000: /,
      ],
      [{ ppo: { epochs: 20 } }, /^engine\.shards: 64 shards of 80 minibatches /],
      [{ batch: large }, /^engine\.shards: 64 shards of 500 minibatches /],
      [{ batch: { discriminator: large.generator } }, /^engine\.shards: .* \(ppo\.epochs × batch\.discriminator/],
    ];
    for (const [fields, message] of refused) {
      assert.throws(() => resolveConfig({ ...fields, engine: { shards: 64 } }), { code: 'BAD_CONFIG', message });
      resolveConfig({ ...fields, engine: { shards: 1 } });
    }
    resolveConfig({ engine: { shards: 64 } });
    resolveConfig({ engine: { shards: 64 }, ppo: { minibatch: 4 }, batch: { generator: { problems: 8 } } });
    const untrained = { trained: false };
    resolveConfig({ engine: { shards: 64 }, batch: { discriminator: large.generator }, discriminator: untrained });
  });

  it('rejects invalid input with one line that names the field and the allowed values', () => {
    const server = { endpoint: 'http://127.0.0.1:8000', adapters: '/shared' };
    const cases: [unknown, RegExp][] = [
      [
        { preset: 'huge' },
        /^preset: unknown 'huge'; known: tiny, tiny-no-discriminator, nested, smollm2-135m, qwen-0\.5b, .*, custom$/,
      ],
      [{ preset: 'toString' }, /^preset: unknown/],
      [{ preset: 7 }, /^preset: must be a name/],
      [{ sed: 1 }, /^sed: no such field; known: preset, seed, /],
      [{ ppo: { lr: 1 } }, /^ppo\.lr: no such field; known: clip, clipHigh, .*learningRate/],
      [{ reward: { archive: { p: 1 } } }, /^reward\.archive\.p: no such field; known: enabled$/],
      [{ seed: -1 }, /^seed: .*>=0/],
      [{ seed: '1' }, /^seed: .*number/],
      [{ ppo: 3 }, /^ppo: .*object/],
      [{ schedule: { stages: [] } }, /^schedule\.stages: /],
      [{ schedule: { stages: [7] } }, /^schedule\.stages\[0\]: must be one of 1, 2, 3, 4, 5$/],
      [{ schedule: { stages: [2, 1] } }, /^schedule\.stages: must be in ascending order/],
      [{ reward: { scheme: 'x' } }, /^reward\.scheme: .*shifted.*discrimination/],
      [{ stages: [1, 2] }, /^stages: must end with 5, the code$/],
      [{ stages: [5], schedule: { stages: [1] } }, /^schedule\.stages: must be a subset of the field stages/],
      [{ mode: 'unified', discriminator: { model: 'm' } }, /^discriminator\.model: cannot be set in mode 'unified'/],
      [{ mode: 'one' }, /^mode: .*two-adapters.*unified/],
      [{ ppo: { decay: 1 } }, /^ppo\.decay: no such field; known: .*schedule, warmupSteps, betas/],
      [{ ppo: { schedule: 'step' } }, /^ppo\.schedule: .*constant.*linear.*cosine/],
      [{ lora: { dropout: 1 } }, /^lora\.dropout: .*<1/],
      [{ rollouts: { ...server, endpoint: 'gpu:8000' } }, /^rollouts\.endpoint: must be a URL, such as http:/],
      [{ rollouts: { ...server, endpoint: 'http://a:b@c' } }, /^rollouts\.endpoint: must not contain a password/],
      [{ rollouts: { ...server, adapters: 'x' } }, /^rollouts\.adapters: must be an absolute path$/],
      [{ rollouts: { endpoint: server.endpoint } }, /^rollouts\.adapters: /],
      [{ rollouts: server, discriminator: { model: 'm' } }, /^discriminator\.model: cannot be set with rollouts/],
      [
        { engine: { device: 'webgpu' } },
        /^engine\.device: webgpu was removed: use cpu, cuda, auto, or the version that the run began with$/,
      ],
      [{ engine: { device: 'tpu' } }, /^engine\.device: .*cpu.*cuda.*auto/],
      [{ engine: { quantization: 'nf4' } }, /^engine\.quantization: .*none.*int8.*int4/],
      [
        { templateArguments: { tools: [] } },
        /^templateArguments\.tools: must be a string, a number, true, false or null$/,
      ],
      [{ templateArguments: { messages: 'x' } }, /^templateArguments\.messages: the name is set by the conversation$/],
      [{ templateArguments: { 'a b': 1 } }, /^templateArguments\.a b: the name must be/],
      [{ sandbox: 'vm' }, /^sandbox: .*auto.*docker.*wasm/],
      [{ seed: -1, credit: 0, sandbox: 0, prompts: 0 }, /\(and 1 more\)$/],
      ['tiny', /must be an object of fields, not a string/],
      [[1], /must be an object of fields, not a list/],
    ];
    for (const [input, line] of cases) assert.match(refusal(input), line);
  });

  it('refuses a key named __proto__, at any depth', () => {
    for (const [json, message] of [
      ['{"__proto__": {"seed": 3}}', /^__proto__: there is no such field$/],
      ['{"ppo": {"__proto__": {"clip": 3}}}', /^ppo\.__proto__: there is no such field$/],
      ['{"schedule": {"stages": [{"__proto__": 1}]}}', /^schedule\.stages\.0\.__proto__: there is no such field$/],
      ['{"constructor": {"x": 1}}', /^constructor: no such field/],
      ['{"ppo": {"prototype": 1}}', /^ppo\.prototype: no such field/],
    ] as const)
      assert.throws(() => resolveConfig(JSON.parse(json)), { code: 'BAD_CONFIG', message });
    assert.equal(({} as { seed?: unknown }).seed, undefined);
  });

  it('refuses limits that are too long for a timer', () => {
    for (const field of ['cpuSeconds', 'caseCpuSeconds', 'wallSeconds', 'memoryMb'])
      assert.throws(() => resolveConfig({ limits: { [field]: 1e300 } }), {
        code: 'BAD_CONFIG',
        message: new RegExp(`^limits\\.${field}: `),
      });
    assert.equal(resolveConfig({ limits: { cpuSeconds: 3e6 } }).limits.cpuSeconds, 3e6);
  });
});
