// The implementations of the activities (method/activities.ts declares them), and how they run: on a Temporal worker, or in
// this process.
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
import { collectSolutions } from './collectSolutions.js';
import { commitCheckpoint } from './commitCheckpoint.js';
import { computeRewards } from './computeRewards.js';
import { countAnswers } from './countAnswers.js';
import { executeSuite } from './executeSuite.js';
import { findFailures } from './findFailures.js';
import { generateReasoning } from './generateReasoning.js';
import { generateTests } from './generateTests.js';
import { measureEvaluation } from './measureEvaluation.js';
import { activityWrappers } from './memoise.js';
import { prepareRun } from './prepareRun.js';
import { prepareSolving } from './prepareSolving.js';
import { quarantineProblems } from './quarantineProblems.js';
import { recordMetrics } from './recordMetrics.js';
import { renderReport } from './renderReport.js';
import { repairPrograms } from './repairPrograms.js';
import { reviseRun } from './reviseRun.js';
import type { ActivityDeps, Scope } from './scope.js';
import { scoreOldPolicy, scoreShard } from './scoreOldPolicy.js';
import { selectChains } from './selectChains.js';
import { summariseEvaluation } from './summariseEvaluation.js';
import { removeUpdateFiles } from './updateFiles.js';
import { updatePolicy } from './updatePolicy.js';
import { applyGradients, computeGradients } from './updateShards.js';
import { answerFreshInputs, scoreExamples, writeExamples } from './warmStart.js';

export type { ActivityDeps, ActivityLog } from './scope.js';

/** The activities that are no sequence of others. */
type Leaf = Exclude<Name, SequenceName>;

const IMPLEMENTATIONS: { [N in Leaf]: (scope: Scope, input: Input<N>) => Promise<Untimed<Output<N>>> } = {
  answerFreshInputs,
  applyGradients,
  collectSolutions,
  commitCheckpoint,
  computeGradients,
  computeRewards,
  countAnswers,
  executeSuite,
  findFailures,
  generateReasoning,
  generateTests,
  measureEvaluation,
  prepareRun,
  prepareSolving,
  quarantineProblems,
  recordMetrics,
  removeUpdateFiles,
  renderReport,
  repairPrograms,
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
export function createActivities(deps: ActivityDeps): Activities {
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
export const createCall = (deps: ActivityDeps): Call => callOf(createActivities(deps));
