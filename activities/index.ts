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
import { ACTIVITIES, type Activities, callOf } from '../method/activities.js';
import type { Activity, Call } from '../method/activity.js';
import * as evaluate from '../method/evaluate.js';
import * as judge from '../method/judge.js';
import * as prepare from '../method/prepare.js';
import * as records from '../method/records.js';
import * as sample from '../method/sample.js';
import * as train from '../method/train.js';
import * as warmStart from '../method/warmStart.js';
import { type Attempt, type Layer, openAttempt, type Work } from './attempt.js';
import { delivered, type Implementation, openLeaves } from './layers.js';

/** An activity that is no sequence, and its function. */
const implement = <I, O>(activity: Activity<I, O>, run: Implementation<I, O>) => ({ activity, run });

const IMPLEMENTATIONS = [
  implement(prepare.prepareRun, prepareRun),
  implement(prepare.quarantineProblems, quarantineProblems),
  implement(prepare.reviseRun, reviseRun),
  implement(prepare.prepareSolving, prepareSolving),
  implement(sample.generateReasoning, generateReasoning),
  implement(sample.generateTests, generateTests),
  implement(sample.countAnswers, countAnswers),
  implement(judge.selectChains, selectChains),
  implement(judge.executeSuite, executeSuite),
  implement(judge.collectSolutions, collectSolutions),
  implement(train.computeRewards, computeRewards),
  implement(train.measureStep, measureStep),
  implement(train.scoreShard, scoreShard),
  implement(train.scoreOldPolicy, scoreOldPolicy),
  implement(train.computeGradients, computeGradients),
  implement(train.applyGradients, applyGradients),
  implement(train.updatePolicy, updatePolicy),
  implement(train.removeUpdateFiles, removeUpdateFiles),
  implement(warmStart.answerFreshInputs, answerFreshInputs),
  implement(warmStart.writeExamples, writeExamples),
  implement(warmStart.scoreExamples, scoreExamples),
  implement(evaluate.summariseEvaluation, summariseEvaluation),
  implement(evaluate.commitCheckpoint, commitCheckpoint),
  implement(evaluate.measureEvaluation, measureEvaluation),
  implement(records.recordMetrics, recordMetrics),
  implement(records.renderReport, renderReport),
] as { activity: Activity<unknown, object>; run: Implementation<unknown, object> }[];

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
  for (const { activity, run } of IMPLEMENTATIONS) work.set(activity.name, leaf(activity, run));
  const registered: Record<string, (input: unknown) => Promise<object>> = {};
  for (const [name, activity] of Object.entries<Activity<unknown, object>>(ACTIVITIES)) {
    const { run } = activity;
    if (run)
      work.set(
        name,
        delivered((attempt) => run(callWithin(attempt), attempt.input)),
      );
    const own = work.get(name);
    if (own === undefined) throw new TypeError(`IMPLEMENTATIONS has no function for the activity ${name}`);
    const called = compose(...outer)(own);
    registered[name] = (input) => called(openAttempt(deps, activity, input));
  }
  return registered as Activities;
}

/** Calls the activities in this process. */
export const createCall = (deps: Deps): Call => callOf(createActivities(deps));
