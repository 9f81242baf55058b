// Everything before the first step: the configuration, the health gate, and the evaluation of the base model.
import { NO_USAGE } from '../core/run/budget.js';
import { checkpointName } from '../core/schema/checkpoint.js';
import { isBuiltIn } from '../core/schema/problem.js';
import type { EvaluationRates } from '../core/schema/run.js';
import { prepareRun, quarantineProblems } from '../method/prepare.js';
import { closeEpoch, evaluate, settleEvaluation } from './evaluation.js';
import type { OpeningState, RunContext, RunState } from './runState.js';

export async function openRun(context: RunContext, runId: string, input: unknown): Promise<RunState> {
  const call = context.call();
  const prepared = await call(prepareRun, { runId, input });
  const { config, origin, controls = [] } = prepared;
  const opening: OpeningState = {
    run: prepared.run,
    config,
    stage: (origin?.stage ?? 0) as RunState['stage'],
    next: origin?.next ?? 0,
    plan: origin?.plan,
    policy: prepared.state,
    replayBuffer: prepared.replayBuffer,
    step: origin?.step ?? 0,
    warmStart: origin?.supervisedSteps === undefined ? undefined : { steps: origin.supervisedSteps, best: {} },
    seconds: 0,
    used: NO_USAGE,
    latestUsage: {},
    best: { name: checkpointName(0, 0), score: Number.NEGATIVE_INFINITY, policy: prepared.state },
    validation: {},
    baseChains: {},
    records: (controls.at(-1)?.index ?? -1) + 1,
    recordedRequests: controls,
    searchAttributes: prepared.searchAttributes,
  };
  context.onConfig(opening);
  const { unfit } = prepared;
  let { run } = opening;
  if ((!isBuiltIn(config.problems) && config.healthGate) || unfit !== undefined) {
    const again = config.healthGate === 'again';
    const { problems, total, quarantined } = await call(quarantineProblems, { run, unfit, again });
    if (quarantined > 0) context.onProgress({ quarantined: { problems: quarantined, of: total } });
    run = { ...run, problems };
  }
  context.onProgress({ state: 'evaluating' });
  const gated = { ...opening, run };
  const { chains, verdict } = await evaluate(context, gated, {
    target: { split: 'test', step: 0, checkpoint: 'base' },
    greedy: true,
  });
  const { rates } = await verdict;
  let state: RunState = { ...gated, before: rates as EvaluationRates, baseChains: { test: chains } };
  const { stage, next, plan } = state; // a fork goes on in a later stage
  const position = { stage: 0, epoch: 0, next, nextStage: stage || undefined, plan } as const;
  state = await closeEpoch(context, state, position, { policy: origin && state.policy });
  state = await settleEvaluation(context, state);
  context.onProgress({ state: 'training' });
  return state;
}
