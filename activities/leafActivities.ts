// The leaf activities with their versions. Raise a version whenever the same inputs give a different output.
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
import type { ActivityDeps } from './scope.js';
import { scoreOldPolicy, scoreShard } from './scoreOldPolicy.js';
import { selectChains } from './selectChains.js';
import { summariseEvaluation } from './summariseEvaluation.js';
import { UPDATE_VERSION } from './update.js';
import { removeUpdateFiles } from './updateFiles.js';
import { updatePolicy } from './updatePolicy.js';
import { applyGradients, computeGradients } from './updateShards.js';
import { answerFreshInputs, scoreExamples, writeExamples } from './warmStart.js';

export function createLeafActivities(deps: ActivityDeps) {
  const { memoised, unmemoised } = activityWrappers(deps);
  return {
    prepareRun: unmemoised(prepareRun),
    reviseRun: unmemoised(reviseRun),
    quarantineProblems: unmemoised(quarantineProblems, 'sandbox'),
    generateReasoning: memoised('generateReasoning', 6, generateReasoning, 'engine'),
    findFailures: memoised('findFailures', 2, findFailures, 'sandbox'),
    repairPrograms: memoised('repairPrograms', 2, repairPrograms, 'engine'),
    generateTests: memoised('generateTests', 3, generateTests, 'engine'),
    executeSuite: memoised('executeSuite', 5, executeSuite, 'sandbox'),
    selectChains: memoised('selectChains', 5, selectChains, 'sandbox'),
    computeRewards: memoised('computeRewards', 7, computeRewards),
    countAnswers: unmemoised(countAnswers),
    scoreOldPolicy: memoised('scoreOldPolicy', 4, scoreOldPolicy, 'engine'),
    scoreShard: memoised('scoreShard', 2, scoreShard, 'engine'),
    updatePolicy: memoised('updatePolicy', UPDATE_VERSION, updatePolicy, 'engine'),
    computeGradients: unmemoised(computeGradients, 'engine'),
    applyGradients: unmemoised(applyGradients, 'engine'),
    removeUpdateFiles: unmemoised(removeUpdateFiles),
    answerFreshInputs: memoised('answerFreshInputs', 2, answerFreshInputs, 'sandbox'),
    writeExamples: memoised('writeExamples', 4, writeExamples),
    scoreExamples: memoised('scoreExamples', 4, scoreExamples, 'engine'),
    summariseEvaluation: memoised('summariseEvaluation', 2, summariseEvaluation),
    measureEvaluation: memoised('measureEvaluation', 3, measureEvaluation),
    recordMetrics: unmemoised(recordMetrics),
    commitCheckpoint: unmemoised(commitCheckpoint),
    renderReport: unmemoised(renderReport),
    prepareSolving: unmemoised(prepareSolving),
    collectSolutions: memoised('collectSolutions', 3, collectSolutions),
  };
}

export type LeafActivities = ReturnType<typeof createLeafActivities>;
