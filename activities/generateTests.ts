// The discriminator writes tests. All stages of all targets form one batch: discriminator turns are independent, and a
// larger batch decodes faster (docs/adr/0004-evaluate-and-test-in-batches.md).
import { discriminatorPrompt, testRequest } from '../core/prompts/prompts.js';
import { deriveKey, extendKey, type KeyPart, RandomStream } from '../core/random.js';
import type { RunConfig } from '../core/schema/config.js';
import { type ChainList, openRole, problemOf, readProblems, type TestBatch, type TestTarget } from './artifacts.js';
import { chainReader, preferComplete } from './chains.js';
import { sampleTurns, samplingFilters, trainingTemperature } from './sampling.js';
import type { Scope } from './scope.js';
import type { GenerateTestsInput, GenerateTestsOutput, TestTargets } from './types.js';

export async function generateTests(scope: Scope, input: GenerateTestsInput): Promise<GenerateTestsOutput> {
  const { config, engine, chat, adapter } = await openRole(scope, input.run, 'discriminator');
  const { byId } = await readProblems(scope.store, input.run.problems);
  const targets = await resolveTargets(scope, input.targets, config);
  const chainOf = await chainReader(scope, targets);
  const batchKey = deriveKey(...drawPath(input.targets, config));
  const jobs = targets.flatMap((target, t) =>
    Array.from({ length: input.samples }, (_, sample) => ({ target, t, sample, chain: chainOf(target) })),
  );
  const prompts = targets.map((target) => {
    const text = chainOf(target).turns.find((turn) => turn.stage === target.stage)?.text ?? '';
    const problem = problemOf(byId, target.problemId);
    return chat.openingTokens(discriminatorPrompt(config.prompts, problem, target.stage, text, testRequest(config)));
  });
  const { turns, tokens } = await sampleTurns(
    scope,
    { engine, chat },
    jobs.map(({ target, t, sample }) => ({
      turns: [],
      prompt: prompts[t]!,
      key: extendKey(batchKey, t, target.problemId, target.stage, sample),
    })),
    {
      ...(input.adapter === undefined ? {} : { adapter: await adapter(input.adapter) }),
      temperature: input.targets.kind === 'evaluation' ? config.evaluation.temperature : trainingTemperature(config),
      maxNewTokens: config.sampling.maxTestTokens,
      ...(isTraining(input.targets) ? {} : samplingFilters(config)),
    },
  );
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

/** Solving has no position in a schedule. */
const isTraining = (targets: TestTargets): boolean => targets.kind !== 'evaluation' && targets.position !== undefined;

function drawPath(targets: TestTargets, config: RunConfig): KeyPart[] {
  if (targets.kind === 'evaluation') return ['evaluation', 'discriminator'];
  const { position } = targets;
  return [config.seed, 'discriminator', ...(position ? [position.stage, position.step] : ['solve'])];
}

async function resolveTargets(scope: Scope, wanted: TestTargets, config: RunConfig): Promise<TestTarget[]> {
  if (wanted.kind === 'selected') return scope.store.getJson<TestTarget[]>(wanted.targets);
  const chains = await scope.store.getJson<ChainList>(wanted.chains);
  if (wanted.kind === 'evaluation') {
    return chains.map((chain, index) => ({
      problemId: chain.problemId,
      chain: { chains: wanted.chains, index },
      stage: new RandomStream('evaluation', 'stage', chain.problemId).choice(config.stages),
    }));
  }
  const groups = new Map<string, number[]>();
  chains.forEach(({ problemId }, index) => {
    groups.set(problemId, [...(groups.get(problemId) ?? []), index]);
  });
  const random = new RandomStream(...drawPath(wanted, config), 'tested-chain');
  return [...groups].flatMap(([problemId, indices]) => {
    const index = random.choice(preferComplete(chains, indices));
    return config.stages.map((stage): TestTarget => ({ problemId, chain: { chains: wanted.chains, index }, stage }));
  });
}
