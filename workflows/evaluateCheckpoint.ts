// Measures a checkpoint or a base model on held-out problems: several chains of each problem, tests for one of them, and
// tests for a program of the base model.
import { compose } from '../core/base/compose.js';
import type { Ref } from '../core/base/ref.js';
import type { Chain, TestBatch } from '../core/schema/chain.js';
import type { Rejected } from '../core/schema/problem.js';
import type { RunRef } from '../core/schema/runRef.js';
import type { SolveProblemsInput } from '../core/schema/solving.js';
import type { SuiteVerdicts } from '../core/schema/verdicts.js';
import type { Call } from '../method/activity.js';
import { type MeasureEvaluationOutput, measureEvaluation } from '../method/evaluate.js';
import { executeSuite } from '../method/judge.js';
import { prepareSolving } from '../method/prepare.js';
import { generateChains, generateTests } from '../method/sample.js';
import { unwrapFailure } from './failures.js';
import { type RunShards, shared, temporalCall } from './layers.js';

/**
 * The input of the workflow evaluateCheckpoint. By default, five samples at the temperature of the run's evaluations, and tests
 * by the discriminator. Without a checkpoint, it measures a base model.
 */
export interface EvaluateCheckpointInput extends SolveProblemsInput {
  part?: number; // sample about this many programs in one activity, so that an interruption costs little; default: all
  gateOf?: string | undefined; // id of the run whose health gate says which problems to leave out; default: the run of the checkpoint
}

export interface EvaluateCheckpointResult extends MeasureEvaluationOutput {
  problems: number;
  samples: number; // chains of each problem
  temperature: number;
  tokens: number; // how many tokens the policy sampled
  /** The artifacts that were measured: chains and their verdicts on hidden tests. */
  artifacts: Pick<RunRef, 'config' | 'problems'> & {
    chains: Ref<Chain[]>;
    verdicts: Ref<SuiteVerdicts[]>;
    tests?: Ref<TestBatch>;
  };
  skipped?: Ref<Rejected[]>; // problems that cannot be used, and inputs that were left out
}

const SAMPLES = 5; // chains of each problem
const MUTANTS = 20; // the most mutants of each reference

/** Samples problems in parts, one after the other, each stored when it is done. */
const inParts = (call: Call, parts: number): Call => compose(shared(parts, inOrder))(call);

const inOrder: RunShards = async (calls) => {
  const results: Awaited<ReturnType<(typeof calls)[number]>>[] = [];
  for (const sample of calls) results.push(await sample());
  return results;
};

export async function evaluateCheckpoint(input: EvaluateCheckpointInput = {}): Promise<EvaluateCheckpointResult> {
  try {
    return await measure(temporalCall(), input);
  } catch (error) {
    throw unwrapFailure(error);
  }
}

export async function measure(
  call: Call,
  { part, ...input }: EvaluateCheckpointInput,
): Promise<EvaluateCheckpointResult> {
  const { samples = SAMPLES, seed = 0, tests: writes = true, gateOf = input.checkpoint?.runId } = input;
  const prepared = await call(prepareSolving, { ...input, seed, gateOf, measures: true });
  const { run, stages, generator, discriminator, problems, skipped } = prepared;
  const temperature = input.temperature ?? prepared.temperature;
  const batch = { kind: 'solve', samples, temperature } as const;
  const chosen = { run, batch, stages, ...generator, ...(writes && { tests: { samples: 1, ...discriminator } }) };
  const parts = part ? Math.ceil((problems * samples) / part) : 1;
  const own = await inParts(call, Math.min(parts, problems))(generateChains, chosen);
  const attack = writes ? await attackOnBase() : undefined;
  const { chains, tests } = own;
  const shared = { run, per: 'problem', chains } as const;
  const hidden = await call(executeSuite, { ...shared, suite: 'hidden', tests, ...(writes && { mutants: MUTANTS }) });
  const baseline = prepared.hasHidden === false ? hidden : await call(executeSuite, { ...shared, suite: 'baseline' });
  const attacks = attack && (await call(executeSuite, { run, per: 'target', suite: 'hidden', tests: attack.tests }));
  const verdicts = {
    hidden: hidden.verdicts,
    baseline: baseline.verdicts,
    ...(attacks && { attacks: attacks.verdicts }),
  };
  const { results, metrics } = await call(measureEvaluation, { run, chains, ...verdicts });
  const { config, problems: set } = run;
  const artifacts = { config, problems: set, chains, verdicts: hidden.verdicts, ...(tests && { tests }) };
  return {
    problems,
    samples,
    temperature,
    tokens: own.tokens + (attack?.tokens ?? 0),
    results,
    metrics,
    artifacts,
    ...(skipped && { skipped }),
  };

  /** Tests that aim at programs of the base model. */
  async function attackOnBase() {
    const fixed = { kind: 'evaluation', split: 'test', problems, greedy: false } as const;
    const frozen = await call(generateChains, { run, stages, batch: fixed });
    const targets = { kind: 'evaluation', chains: frozen.chains } as const;
    return call(generateTests, { run, targets, samples: 1, ...discriminator });
  }
}
