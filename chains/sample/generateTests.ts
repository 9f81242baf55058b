// The discriminator writes tests, or a random stream does. All stages of all targets form one batch: discriminator turns
// are independent, and a larger batch decodes faster (docs/adr/0004-evaluate-and-test-in-batches.md).
import { groupBy } from '../../core/base/groups.js';
import { deriveKey, extendKey, type KeyPart, RandomStream } from '../../core/base/random.js';
import { testAnswer } from '../../core/prompts/answers.js';
import { testRequest } from '../../core/prompts/prompts.js';
import { sliceOf } from '../../core/run/shards.js';
import type { Chain, TestBatch, TestTarget } from '../../core/schema/chain.js';
import type { RunConfig } from '../../core/schema/config.js';
import type { ShardResult } from '../../method/activity.js';
import type { GenerateTestsInput, GenerateTestsOutput, TestTargets } from '../../method/sample.js';
import { openRole, problemOf, readConfig, readProblems } from '../artifacts.js';
import { chainReader, preferComplete } from '../chainLists.js';
import type { Scope } from '../scope.js';
import { readShards, tokensOf } from '../shards.js';
import { drawInputs, type InputJob } from './drawInputs.js';
import { rolloutSampler } from './remoteRollouts.js';
import {
  answerLimits,
  sampleByAdapter,
  sampleTurns,
  samplingFilters,
  testPrompt,
  trainingTemperature,
} from './sampling.js';

interface TestJob {
  target: TestTarget;
  t: number; // index of the target
  sample: number;
  chain: Chain;
}

export async function generateTests(scope: Scope, input: GenerateTestsInput): Promise<GenerateTestsOutput> {
  if (input.shards) return joinTests(scope, input.shards);
  const config = await readConfig(scope.store, input.run);
  const targets = await resolveTargets(scope, input.targets, config);
  const chainOf = await chainReader(scope, targets);
  const all = targets.flatMap((target, t) =>
    Array.from(
      { length: input.samples },
      (_, sample): TestJob => ({ target, t, sample, chain: chainOf(target).chain }),
    ),
  );
  const jobs = input.shard ? sliceOf(all, input.shard) : all;
  const write = config.discriminator.writer === 'model' ? sampleJobs : drawTurns;
  const { turns, tokens } = await write(scope, input, config, jobs);
  const batch: TestBatch = {
    targets,
    samples: input.samples,
    turns: jobs.map(({ target, sample, chain }, i) => ({
      problemId: target.problemId,
      chainSample: chain.sample,
      stage: target.stage,
      sample,
      ...turns[i]!,
    })),
  };
  return { tests: await scope.store.putJson(batch), tokens };
}

async function joinTests(scope: Scope, shards: readonly ShardResult<TestBatch>[]): Promise<GenerateTestsOutput> {
  const { parts, ...times } = await readShards(scope, shards);
  const batch: TestBatch = { ...parts[0]!, turns: parts.flatMap(({ turns }) => turns) };
  return { tests: await scope.store.putJson(batch), tokens: tokensOf(shards), ...times };
}

type Written = ReturnType<typeof sampleTurns>;

/** The model answers a prompt with the problem and the work of one stage. */
async function sampleJobs(scope: Scope, input: GenerateTestsInput, config: RunConfig, jobs: TestJob[]): Written {
  const role = await openRole(scope, input.run, 'discriminator');
  const { engine, chat, adapter } = role;
  const { byId } = await readProblems(scope.store, input.run.problems);
  const batchKey = deriveKey(...drawPath(input.targets, config));
  const prompts = new Map<TestTarget, ReturnType<typeof testPrompt>>();
  for (const { target, chain } of jobs) {
    if (prompts.has(target)) continue;
    const problem = problemOf(byId, target.problemId);
    prompts.set(target, testPrompt(chat, config, problem, chain.turns, target.stage));
  }
  const rows = jobs.map(({ target, t, sample }) => ({
    turns: [],
    ...prompts.get(target)!,
    key: extendKey(batchKey, t, target.problemId, target.stage, sample),
  }));
  const weights = jobs.map(({ target }) => input.frozen?.[target.stage] ?? input.adapter);
  const isTrained = isTraining(input.targets);
  return sampleByAdapter(rows, weights, async (some, own) => {
    const sampler = isTrained ? rolloutSampler(scope, role, own) : engine;
    const options = {
      adapter: own === undefined ? undefined : await adapter(own),
      temperature: input.targets.kind === 'evaluation' ? config.evaluation.temperature : trainingTemperature(config),
      ...answerLimits(config, role, 'tests'),
      ...(isTrained ? {} : samplingFilters(config)),
    };
    return sampleTurns(scope, { engine, chat, sampler }, some, options);
  });
}

/** Draws as many inputs as a prompt asks for, without a model. */
async function drawTurns(scope: Scope, input: GenerateTestsInput, config: RunConfig, jobs: TestJob[]): Written {
  const { byId } = await readProblems(scope.store, input.run.problems);
  const path = drawPath(input.targets, config);
  const drawn = jobs.map(({ target: { problemId, stage }, t, sample, chain }): InputJob => {
    const random = new RandomStream(...path, 'inputs', t, problemId, stage, sample);
    return { chain, problem: problemOf(byId, problemId), random };
  });
  const request = testRequest(config);
  const inputs = await drawInputs(scope, config, drawn, request.testsPerTurn);
  const turns = drawn.map(({ problem }, i) => {
    const tests = inputs[i]!.map((args) => ({ args, expected: null }));
    const text = testAnswer(config.prompts, request, problem.entry, tests);
    return { promptTokens: [], answerTokens: [], text, truncated: false };
  });
  return { turns, tokens: 0 };
}

/** True for targets of a training step. Targets of solving have no position in a schedule. */
const isTraining = (targets: TestTargets): boolean => targets.kind !== 'evaluation' && targets.position !== undefined;

function drawPath(targets: TestTargets, config: RunConfig): KeyPart[] {
  if (targets.kind === 'evaluation') return ['evaluation', 'discriminator'];
  const { position } = targets;
  return [config.seed, 'discriminator', ...(position ? [position.stage, position.step] : ['solve'])];
}

async function resolveTargets(scope: Scope, wanted: TestTargets, config: RunConfig): Promise<TestTarget[]> {
  if (wanted.kind === 'selected') return scope.store.getJson(wanted.targets);
  const chains = await scope.store.getJson(wanted.chains);
  if (wanted.kind === 'evaluation') {
    return chains.map((chain, index) => ({
      problemId: chain.problemId,
      chain: { chains: wanted.chains, index },
      stage: new RandomStream('evaluation', 'stage', chain.problemId).choice(config.stages),
    }));
  }
  const groups = groupBy(chains.keys(), (index) => chains[index]!.problemId);
  const random = new RandomStream(...drawPath(wanted, config), 'tested-chain');
  const testsAll = config.discriminator.targets === 'all' && isTraining(wanted);
  return [...groups].flatMap(([problemId, indices]) => {
    const tested = testsAll ? indices : [random.choice(preferComplete(chains, indices))];
    return tested.flatMap((index) =>
      config.stages.map((stage): TestTarget => ({ problemId, chain: { chains: wanted.chains, index }, stage })),
    );
  });
}
