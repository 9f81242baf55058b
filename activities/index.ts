// The implementations of the activities (method/activities.ts declares them), and how they run: on a Temporal worker, or in
// this process.
import { collectSolutions } from '../chains/judge/collectSolutions.js';
import { executeSuite } from '../chains/judge/executeSuite.js';
import { hardenProblems } from '../chains/judge/hardenProblems.js';
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
import * as method from '../method/activities.js';
import type { Activity, Call } from '../method/activity.js';
import { type Attempt, type Layer, openAttempt, type Work } from './attempt.js';
import { delivered, type Implementation, openLeaves } from './layers.js';

/** Joins an activity that is no sequence with its function. */
const implement = <I, O>(activity: Activity<I, O>, run: Implementation<I, O>) => ({ activity, run });

const IMPLEMENTATIONS = [
  implement(method.prepareRun, prepareRun),
  implement(method.quarantineProblems, quarantineProblems),
  implement(method.reviseRun, reviseRun),
  implement(method.prepareSolving, prepareSolving),
  implement(method.generateReasoning, generateReasoning),
  implement(method.generateTests, generateTests),
  implement(method.countAnswers, countAnswers),
  implement(method.selectChains, selectChains),
  implement(method.executeSuite, executeSuite),
  implement(method.collectSolutions, collectSolutions),
  implement(method.hardenProblems, hardenProblems),
  implement(method.computeRewards, computeRewards),
  implement(method.measureStep, measureStep),
  implement(method.scoreShard, scoreShard),
  implement(method.scoreOldPolicy, scoreOldPolicy),
  implement(method.computeGradients, computeGradients),
  implement(method.applyGradients, applyGradients),
  implement(method.updatePolicy, updatePolicy),
  implement(method.removeUpdateFiles, removeUpdateFiles),
  implement(method.answerFreshInputs, answerFreshInputs),
  implement(method.writeExamples, writeExamples),
  implement(method.scoreExamples, scoreExamples),
  implement(method.summariseEvaluation, summariseEvaluation),
  implement(method.commitCheckpoint, commitCheckpoint),
  implement(method.measureEvaluation, measureEvaluation),
  implement(method.recordMetrics, recordMetrics),
  implement(method.renderReport, renderReport),
] as { activity: Activity<unknown, object>; run: Implementation<unknown, object> }[];

/**
 * The activities that a worker registers. They throw Temporal failures.
 * @param outer layers around activities that Temporal calls, but not around activities that a sequence calls
 */
export function createActivities(deps: Deps, ...outer: Layer[]): method.Activities {
  const leaf = openLeaves(deps);
  const work = new Map<string, Work>();
  const callWithin =
    (attempt: Attempt): Call =>
    <I, O>(activity: Activity<I, O>, input: I) =>
      work.get(activity.name)!({ ...attempt, activity, input }) as Promise<O>;
  for (const { activity, run } of IMPLEMENTATIONS) work.set(activity.name, leaf(activity, run));
  const registered: Record<string, (input: unknown) => Promise<object>> = {};
  for (const [name, activity] of Object.entries<Activity<unknown, object>>(method.ACTIVITIES)) {
    const { run } = activity;
    const sequence = run && delivered((attempt) => run(callWithin(attempt), attempt.input));
    const own = sequence ?? work.get(name);
    if (own === undefined) throw new TypeError(`IMPLEMENTATIONS has no function for the activity ${name}`);
    work.set(name, own);
    const called = compose(...outer)(own);
    registered[name] = (input) => called(openAttempt(deps, activity, input));
  }
  return registered as method.Activities;
}

/** Returns a function that calls the activities in this process. */
export const createCall = (deps: Deps): Call => method.callOf(createActivities(deps));
