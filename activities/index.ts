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
import { completeBatch } from '../chains/sample/completeBatch.js';
import { countAnswers } from '../chains/sample/countAnswers.js';
import { generateReasoning } from '../chains/sample/generateReasoning.js';
import { generateTests } from '../chains/sample/generateTests.js';
import type { Deps, Scope } from '../chains/scope.js';
import { computeRewards } from '../chains/train/computeRewards.js';
import { measureStep } from '../chains/train/measureStep.js';
import { scoreOldPolicy, scoreShard } from '../chains/train/scoreOldPolicy.js';
import { removeUpdateFiles } from '../chains/train/updateFiles.js';
import { updatePolicy } from '../chains/train/updatePolicy.js';
import { applyGradients, computeGradients } from '../chains/train/updateShards.js';
import { answerFreshInputs, scoreExamples, writeExamples } from '../chains/train/warmStart.js';
import {
  ACTIVITIES,
  type Activities,
  type Call,
  callOf,
  type Input,
  type Name,
  type Output,
  type SequenceName,
} from '../method/activities.js';
import { SEQUENCES } from '../method/sequences.js';
import { activityWrappers } from './memoise.js';
import { renderReport } from './renderReport.js';
import { reviseRun } from './reviseRun.js';

/** The activities that are no sequence of others. */
type Leaf = Exclude<Name, SequenceName>;

const IMPLEMENTATIONS: { [N in Leaf]: (scope: Scope, input: Input<N>) => Promise<Untimed<Output<N>>> } = {
  answerFreshInputs,
  applyGradients,
  collectSolutions,
  commitCheckpoint,
  completeBatch,
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

/** The memo store adds the time of the computation. */
type Untimed<O> = Omit<O, 'seconds'> & { seconds?: number };

/** The activities that a worker registers. They throw Temporal failures. */
export function createActivities(deps: Deps): Activities {
  const { memoised, unmemoised } = activityWrappers(deps);
  const leaf = (name: Leaf) => {
    const { version, needs } = ACTIVITIES[name];
    const run = IMPLEMENTATIONS[name] as (scope: Scope, input: unknown) => Promise<object>;
    return version === undefined ? unmemoised(name, run, needs) : memoised(name, version, run, needs);
  };
  const sequence =
    <N extends SequenceName>(name: N) =>
    (input: Input<N>) =>
      SEQUENCES[name](call, input);
  const names = Object.keys(ACTIVITIES) as Name[];
  const activities = Object.fromEntries(
    names.map((name) => [name, name in SEQUENCES ? sequence(name as SequenceName) : leaf(name as Leaf)]),
  ) as Activities;
  const call = callOf(activities);
  return activities;
}

/** Calls the activities in this process. */
export const createCall = (deps: Deps): Call => callOf(createActivities(deps));
