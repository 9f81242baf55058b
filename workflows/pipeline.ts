// The whole run: prepare, measure the base model, train the stages in order, measure the best checkpoint. Pure
// orchestration over activities; a workflow gives it children for stages, a test or a benchmark runs it in process.
import type { PrepareRunOutput } from '../activities/types.js';
import { NOTHING_SPENT } from '../core/control.js';
import { checkpointName } from '../core/schema/checkpoint.js';
import type { EvaluationRates, RunProgress, RunResult } from '../core/schema/run.js';
import type { Acts } from './acts.js';
import { closeEpoch } from './epoch.js';
import { runStage } from './stage.js';
import { planOf, type StageHooks, type StageInput } from './stageInput.js';
import { completed, type RunContext, type TrainingState } from './state.js';
import { evaluate } from './steps/evaluation.js';
import { solve } from './steps/solving.js';

/** A run between two steps: all it takes to go on elsewhere. */
export interface RunState {
  before: EvaluationRates;
  base: string; // digest of the base model's chains on the test split
  at: StageInput;
  over: boolean; // no step is left
}

export interface PipelineHooks extends StageHooks {
  /** After the configuration is known to be good. */
  onPrepared?(prepared: PrepareRunOutput): void;
  /** No step is left. */
  onTrained?(): void;
  /** False for a run that began before there was a health gate. */
  isGated?(): boolean;
  /** Runs one stage to its end; by default in this very process. One that ends early is begun again where it was. */
  runStage?(input: StageInput): Promise<StageInput>;
  /** Whether what is asked while the last epoch is evaluated is done; false for a run that went on without. */
  hearsToTheEnd?(): boolean;
  /** Asked whenever no stage is at work; may never return, and the run goes on from this state. */
  onRest?(state: RunState): Promise<void>;
}

/** @param from of a run that went on elsewhere before; absent: it begins */
export async function runPipeline(
  acts: Acts,
  runId: string,
  input: unknown,
  hooks: PipelineHooks = {},
  from?: RunState,
): Promise<RunResult> {
  const report = (state: RunProgress['state']): void | Promise<void> => hooks.onProgress?.({ state });
  const train = hooks.runStage ?? ((stage) => runStage(acts, stage, hooks));
  let now = from ?? (await begin(acts, runId, input, hooks, report));
  /** It was accepted, so it is done or at least put on record; a longer schedule is one that goes on. */
  const isAsked = ({ asked }: StageInput): boolean =>
    (hooks.requests?.().length ?? 0) > asked && (hooks.hearsToTheEnd?.() ?? true);
  while (!now.over || isAsked(now.at)) {
    const before = now;
    const at = await train(now.at);
    const next = following(at);
    now = { ...now, at: next ?? at, over: next === undefined };
    await hooks.onRest?.(now);
    if (before.over && at.asked === before.at.asked) break; // what is left will never be due
  }

  hooks.onTrained?.();
  await report('evaluating');
  const { before, base, at } = now;
  const { run, config, state, stopped } = at;
  const context: RunContext = { acts, run, config: completed(config), shortEpochs: hooks.shortEpochs ?? true };
  const { best } = state;
  const { rates: after } = await measure(context, state.step, best.name, best.policy, base);
  const result: RunResult = {
    runId,
    seed: config.seed,
    before,
    after,
    trainingSeconds: state.seconds,
    digests: { generator: best.policy.generator.adapter, discriminator: best.policy.discriminator.adapter },
    best: best.name,
    ...(stopped === undefined ? {} : { stopped }),
  };
  const example = await exampleOf(context, result.best);
  const { path } = await acts.renderReport({ runId, result, example });
  await report('completed');
  return path === undefined ? result : { ...result, report: path };
}

/** Up to the first step: the base model is measured, and the checkpoint before any training committed. */
async function begin(
  acts: Acts,
  runId: string,
  input: unknown,
  hooks: PipelineHooks,
  report: (state: RunProgress['state']) => void | Promise<void>,
): Promise<RunState> {
  const prepared = await acts.prepareRun({ runId, input });
  hooks.onPrepared?.(prepared);
  const { origin, controls } = prepared;
  const config = completed(prepared.config);
  const run = await gated(acts, prepared, config.problems, hooks);
  const context: RunContext = { acts, run, config, shortEpochs: hooks.shortEpochs ?? true };

  await report('evaluating');
  const { rates: before, base } = await measure(context, 0, 'base', undefined);
  const initial: TrainingState = {
    policy: prepared.state,
    replayBuffer: prepared.replayBuffer,
    step: origin?.step ?? 0,
    seconds: 0,
    spent: NOTHING_SPENT,
    costs: {},
    ...(controls && { records: controls.at(-1)!.index + 1 }),
    best: { name: checkpointName(0, 0), score: Number.NEGATIVE_INFINITY, policy: prepared.state },
    validation: {},
  };
  const closed = await closeEpoch(context, initial, { stage: 0, epoch: 0, next: 0, fresh: !origin });
  const state = (await closed.verdict)(closed.state);
  await report('training');
  const { stages } = config.schedule;
  const stage = stages.find((trained) => trained >= (origin?.stage ?? 0));
  const place = origin !== undefined && stage === origin.stage ? { next: origin.next, plan: origin.plan } : { next: 0 };
  const at = { run, config, state, stage: stage ?? stages.at(-1)!, ...place, asked: 0, ...(controls && { controls }) };
  return { before, base, at, over: stage === undefined };
}

/** Where a run goes on after `at`; undefined where it has had its last step. */
function following(at: StageInput): StageInput | undefined {
  if (at.stopped !== undefined) return undefined;
  if (at.next < planOf(at).length) return at;
  const { stages } = completed(at.config).schedule;
  const next = stages.find((stage) => stage > at.stage);
  if (next === undefined) return undefined;
  const { run, config, state, asked, controls } = at;
  return { run, config: completed(config), state, stage: next, next: 0, asked, ...(controls && { controls }) };
}

/** The run on what passes the health gate; the shipped problems are right by construction. */
async function gated(
  acts: Acts,
  { run }: PrepareRunOutput,
  source: string,
  hooks: PipelineHooks,
): Promise<PrepareRunOutput['run']> {
  if (source === 'tiny' || hooks.isGated?.() === false) return run;
  return { ...run, problems: (await acts.quarantineProblems({ run })).problems };
}

/** All four rates on the test split, which nothing else looks at. */
async function measure(
  context: RunContext,
  step: number,
  checkpoint: string,
  policy: TrainingState['policy'] | undefined,
  known?: string, // the base model's chains
): Promise<{ rates: EvaluationRates; base: string }> {
  const of = { split: 'test', step, checkpoint } as const;
  const { base, verdict } = await evaluate(context, { of, policy, greedy: true, base: known });
  const { rates } = await verdict;
  return { rates: rates as EvaluationRates, base };
}

/** One chain of the best checkpoint on a problem of the test split, with tests for every stage: for people to read. */
async function exampleOf({ acts, run, config }: RunContext, name: string): Promise<string> {
  const { views } = await solve(acts, {
    source: config.problems,
    split: 'test',
    limit: 1,
    temperature: config.evaluation.temperature,
    tests: config.discriminator.enabled,
    checkpoint: { runId: run.runId, name },
  });
  return views;
}
