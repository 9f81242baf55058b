// Every activity by itself. Versions are declared here; raise one whenever the same inputs give another output.
import { collectSolutions } from './collectSolutions.js';
import { commitCheckpoint } from './commitCheckpoint.js';
import { computeRewards } from './computeRewards.js';
import { executeSuite } from './executeSuite.js';
import { generateReasoning } from './generateReasoning.js';
import { generateTests } from './generateTests.js';
import type { ArtifactProducers } from './heal.js';
import { memoised, unmemoised } from './memoise.js';
import { prepareRun } from './prepareRun.js';
import { prepareSolving } from './prepareSolving.js';
import { quarantineProblems } from './quarantineProblems.js';
import { recordMetrics } from './recordMetrics.js';
import { renderReport } from './renderReport.js';
import { reviseRun } from './reviseRun.js';
import type { ActivityDeps } from './scope.js';
import { scoreOldPolicy } from './scoreOldPolicy.js';
import { selectChains } from './selectChains.js';
import { summariseEvaluation } from './summariseEvaluation.js';
import { updatePolicy } from './updatePolicy.js';

export function createLeafActivities(deps: ActivityDeps) {
  const producers: ArtifactProducers = new Map(); // who is asked for an artifact that was lost
  return {
    prepareRun: unmemoised(deps, prepareRun, producers),
    reviseRun: unmemoised(deps, reviseRun, producers),
    quarantineProblems: unmemoised(deps, quarantineProblems, producers),
    generateReasoning: memoised(deps, { name: 'generateReasoning', version: 2, run: generateReasoning }, producers),
    generateTests: memoised(deps, { name: 'generateTests', version: 1, run: generateTests }, producers),
    executeSuite: memoised(deps, { name: 'executeSuite', version: 2, run: executeSuite }, producers),
    selectChains: memoised(deps, { name: 'selectChains', version: 2, run: selectChains }, producers),
    computeRewards: memoised(deps, { name: 'computeRewards', version: 3, run: computeRewards }, producers),
    scoreOldPolicy: memoised(deps, { name: 'scoreOldPolicy', version: 1, run: scoreOldPolicy }, producers),
    updatePolicy: memoised(deps, { name: 'updatePolicy', version: 1, run: updatePolicy }, producers),
    summariseEvaluation: memoised(
      deps,
      { name: 'summariseEvaluation', version: 1, run: summariseEvaluation },
      producers,
    ),
    recordMetrics: unmemoised(deps, recordMetrics, producers),
    commitCheckpoint: unmemoised(deps, commitCheckpoint, producers),
    renderReport: unmemoised(deps, renderReport, producers),
    prepareSolving: unmemoised(deps, prepareSolving, producers),
    collectSolutions: memoised(deps, { name: 'collectSolutions', version: 1, run: collectSolutions }, producers),
  };
}

export type LeafActivities = ReturnType<typeof createLeafActivities>;
