// The implementations of the activities (method/activities.ts declares them), and how they run: on a Temporal worker, or in
// this process.
import { collectSolutions } from '../chains/judge/collectSolutions.js';
import { executeSuite } from '../chains/judge/executeSuite.js';
import { measureEvaluation } from '../chains/judge/measureEvaluation.js';
import { selectChains } from '../chains/judge/selectChains.js';
import { summariseEvaluation } from '../chains/judge/summariseEvaluation.js';
import { commitCheckpoint } from '../chains/run/commitCheckpoint.js';
import { prepareRun } from '../chains/run/prepareRun.js';
import { prepareSolving } from '../chains/run/prepareSolving.js';
import { quarantineProblems } from '../chains/run/quarantineProblems.js';
import { recordMetrics } from '../chains/run/recordMetrics.js';
import { renderReport } from '../chains/run/renderReport.js';
import { reviseRun } from '../chains/run/reviseRun.js';
import { countAnswers } from '../chains/sample/countAnswers.js';
import { generateReasoning } from '../chains/sample/generateReasoning.js';
import { generateTests } from '../chains/sample/generateTests.js';
import type { Deps } from '../chains/scope.js';
import { computeRewards } from '../chains/train/computeRewards.js';
import { measureStep } from '../chains/train/measureStep.js';
import { scoreOldPolicy, scoreShard } from '../chains/train/scoreOldPolicy.js';
import { removeUpdateFiles } from '../chains/train/updateFiles.js';
import { updatePolicy } from '../chains/train/updatePolicy.js';
import { applyGradients, computeGradients } from '../chains/train/updateShards.js';
import { answerFreshInputs, scoreExamples, writeExamples } from '../chains/train/warmStart.js';
import { compose } from '../core/base/compose.js';
import { ACTIVITIES, type Activities, callOf, type Input, type LeafName, type Output } from '../method/activities.js';
import type { Activity, Call } from '../method/activity.js';
import { type Attempt, type Layer, openAttempt, type Work } from './attempt.js';
import { delivered, type Implementation, openLeaves } from './layers.js';

const IMPLEMENTATIONS: { [N in LeafName]: Implementation<Input<N>, Output<N>> } = {
  answerFreshInputs,
  applyGradients,
  collectSolutions,
  commitCheckpoint,
  computeGradients,
  computeRewards,
  countAnswers,
  executeSuite,
  generateReasoning,
  generateTests,
  measureEvaluation,
  measureStep,
  prepareRun,
  prepareSolving,
  quarantineProblems,
  recordMetrics,
  removeUpdateFiles,
  renderReport,
  reviseRun,
  scoreExamples,
  scoreOldPolicy,
  scoreShard,
  selectChains,
  summariseEvaluation,
  updatePolicy,
  writeExamples,
};

/**
 * The activities that a worker registers. They throw Temporal failures.
 * @param outer layers around an activity that Temporal called, but not around those that a sequence calls
 */
export function createActivities(deps: Deps, ...outer: Layer[]): Activities {
  const leaf = openLeaves(deps);
  const work = new Map<string, Work>();
  const callWithin =
    (attempt: Attempt): Call =>
    <I, O>(activity: Activity<I, O>, input: I) =>
      work.get(activity.name)!({ ...attempt, activity, input }) as Promise<O>;
  const registered: Record<string, (input: unknown) => Promise<object>> = {};
  for (const [name, activity] of Object.entries<Activity<unknown, object>>(ACTIVITIES)) {
    const { run } = activity;
    const own = run
      ? delivered((attempt) => run(callWithin(attempt), attempt.input))
      : leaf(activity, IMPLEMENTATIONS[name as LeafName] as Implementation<unknown, object>);
    const called = compose(...outer)(own);
    work.set(name, own);
    registered[name] = (input) => called(openAttempt(deps, activity, input));
  }
  return registered as Activities;
}

/** Calls the activities in this process. */
export const createCall = (deps: Deps): Call => callOf(createActivities(deps));
