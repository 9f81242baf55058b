// Invented records of a whole tiny run, in the format of real ones. Only these tests use them.

import { RandomStream } from '../../core/base/random.js';
import { resolveConfig } from '../../core/config/presets.js';
import { planStage } from '../../core/run/schedule.js';
import type { ChainView } from '../../core/schema/chainView.js';
import { checkpointName } from '../../core/schema/checkpoint.js';
import type { RunMetrics, StepMetrics } from '../../core/schema/metrics.js';
import type { EvaluationRates, RunResult } from '../../core/schema/run.js';

export const HOSTILE = `<script>alert('x')</script><img src=x onerror="alert(1)">&amp;`;
export const fakeDigest = (digit: string) => `sha256:${digit.repeat(64)}`;

const SCHEDULE = { discriminatorSteps: 4, generatorSteps: 4, alternatingSteps: 4 };

export function sampleData() {
  const config = resolveConfig({ seed: 1, schedule: SCHEDULE });
  const random = new RandomStream('report sample');
  const metrics: RunMetrics[] = [evaluation(0, 'base', ratesAt(0, random))];
  const plan = planStage(config);
  const total = plan.length * config.schedule.stages.length;
  let best = { name: '', score: 0 };
  config.schedule.stages.forEach((stage, index) => {
    for (const [at, planned] of plan.entries()) {
      const step = index * plan.length + planned.step;
      metrics.push(stepRecord(step, stage, planned, random, step / total));
      if (plan[at + 1]?.epoch === planned.epoch) continue;
      const rates = ratesAt(step / total, random);
      const name = checkpointName(stage, planned.epoch);
      const score = 0.7 * (rates.passRate - 0.5) + 0.3 * rates.testValidity!;
      metrics.push({ ...evaluation(step, name, rates), score });
      if (score > best.score) best = { name, score };
    }
  });
  const result: RunResult = {
    runId: 'first',
    seed: 1,
    before: { passRate: 0.6523, greedyPassRate: 0.5957, testValidity: 0.6461, bugCatchRate: 0.3412 },
    after: { passRate: 0.9323, greedyPassRate: 0.9515, testValidity: 0.8423, bugCatchRate: 0.3312 },
    trainingSeconds: 312.4,
    digests: { generator: fakeDigest('e'), discriminator: fakeDigest('f') },
    best: best.name,
  };
  return { config, metrics: metrics.reverse(), result, chain: sampleChain() }; // the order is arbitrary
}

function sampleChain(): ChainView {
  const code =
    'def solve(nums, k):\n    best = 0\n    for x in nums:\n        if x >= k:\n            best = max(best, x)\n    return best';
  const texts = [
    'keep the numbers that are at least k, then take the largest',
    '1. keep x if x >= k\n2. take max\n3. none kept: 0',
    'for x in nums: if x >= k: best = max(best, x)',
    'k may exceed every number; best starts at 0',
    code,
  ];
  return {
    problemId: 'list-at_least_k-self-max',
    description: `Return the largest of the numbers that are at least k, or 0. ${HOSTILE}`,
    signature: 'def solve(nums, k):',
    stages: texts.map((text, index) => ({
      stage: (index + 1) as 1 | 2 | 3 | 4 | 5,
      text: index === 1 ? `${text}\n${HOSTILE}` : text,
      tests: [
        { call: `solve([${index + 1}, 7], ${index})`, expected: '7', valid: true, verdict: 'pass' },
        {
          call: 'solve([], 3)',
          expected: index === 2 ? "'<b>'" : '0',
          valid: index !== 2,
          ...(index === 2 ? {} : { verdict: index === 4 ? ('fail' as const) : ('pass' as const) }),
        },
      ],
      lost: index === 3 ? 1 : 0,
    })),
    baseline: [{ call: 'solve([4, 9, 2], 3)', expected: '9', valid: true, verdict: 'pass' }],
    rewards: { generator: 0.41, discriminator: [0.4, 0.4, -0.1, 0.07, 0.7] },
    outcomes: { generator: 'failed', discriminator: ['valid', 'valid', 'invalid', 'valid', 'caught'] },
  };
}

export function sampleStep(step: number): StepMetrics {
  return { ...sampleData().metrics.find(({ kind }) => kind === 'step'), step } as StepMetrics;
}

function ratesAt(progress: number, random: RandomStream): EvaluationRates {
  const noise = () => 0.02 * (random.uniform() - 0.5);
  return {
    passRate: 0.65 + 0.28 * progress ** 1.5 + noise(),
    greedyPassRate: 0.6 + 0.35 * progress + noise(),
    testValidity: 0.65 + 0.2 * Math.sqrt(progress) + noise(),
    bugCatchRate: 0.34 + 0.15 * progress + noise(),
  };
}

function evaluation(step: number, checkpoint: string, rates: EvaluationRates): RunMetrics & { kind: 'evaluation' } {
  return { kind: 'evaluation', step, split: 'validation', checkpoint, rates, seconds: 2 };
}

function stepRecord(
  step: number,
  stage: StepMetrics['stage'],
  planned: ReturnType<typeof planStage>[number],
  random: RandomStream,
  progress: number,
): StepMetrics {
  const { phase, epoch, role } = planned;
  const wave = random.uniform();
  return {
    kind: 'step',
    step,
    stage,
    phase,
    epoch,
    role,
    reward: role === 'generator' ? 0.25 + 0.2 * progress + 0.05 * wave : -0.1 + 0.4 * progress + 0.1 * wave,
    rewardStd: 0.3,
    passRate: 0.75 + 0.2 * progress,
    baselinePassRate: 0.9,
    outcomes: { passed: 10, failed: 22 },
    suiteSize: 9,
    update: {
      loss: -0.01,
      ratio: 1,
      approxKl: 0.004 + 0.01 * wave,
      clipFraction: 0.05 * wave,
      entropy: 0.35 - 0.25 * progress,
      gradNorm: 0.4 + wave,
      tokens: 9000,
    },
    rows: 70,
    learningRate: 1e-3,
    sampledTokens: 16_000,
    tokensPerSecond: 12_000,
    seconds: 4.4,
    artifacts: { config: '', problems: '', verdicts: '', replayBuffer: '', trajectories: '' },
  };
}
