// The activities that workflows call.
import { compositeActivities } from './compositeActivities.js';
import { createLeafActivities } from './leafActivities.js';
import type { ActivityDeps } from './scope.js';

export type { ActivityDeps, ActivityLog } from './scope.js';

/** Creates the activities that a worker registers. */
export function createActivities(deps: ActivityDeps) {
  const leaf = createLeafActivities(deps);
  return {
    prepareRun: leaf.prepareRun,
    reviseRun: leaf.reviseRun,
    quarantineProblems: leaf.quarantineProblems,
    answerFreshInputs: leaf.answerFreshInputs,
    generateTests: leaf.generateTests,
    executeSuite: leaf.executeSuite,
    findFailures: leaf.findFailures,
    selectChains: leaf.selectChains,
    computeRewards: leaf.computeRewards,
    scoreOldPolicy: leaf.scoreOldPolicy,
    scoreShard: leaf.scoreShard,
    computeGradients: leaf.computeGradients,
    applyGradients: leaf.applyGradients,
    updatePolicy: leaf.updatePolicy,
    measureEvaluation: leaf.measureEvaluation,
    recordMetrics: leaf.recordMetrics,
    renderReport: leaf.renderReport,
    prepareSolving: leaf.prepareSolving,
    collectSolutions: leaf.collectSolutions,
    ...compositeActivities(leaf),
  };
}

export type Activities = ReturnType<typeof createActivities>;
