// Every activity by itself. Versions are declared here; raise one whenever the same inputs give another output.
import { collectSolutions } from './collectSolutions.js';
import { commitCheckpoint } from './commitCheckpoint.js';
import { computeRewards } from './computeRewards.js';
import { executeSuite } from './executeSuite.js';
import { generateReasoning } from './generateReasoning.js';
import { generateTests } from './generateTests.js';
import { memoised, repeated } from './memoise.js';
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

export function createUnits(deps: ActivityDeps) {
  return {
    prepareRun: repeated(deps, prepareRun),
    reviseRun: repeated(deps, reviseRun),
    quarantineProblems: repeated(deps, quarantineProblems),
    generateReasoning: memoised(deps, { name: 'generateReasoning', version: 2, run: generateReasoning }),
    generateTests: memoised(deps, { name: 'generateTests', version: 1, run: generateTests }),
    executeSuite: memoised(deps, { name: 'executeSuite', version: 2, run: executeSuite }),
    selectChains: memoised(deps, { name: 'selectChains', version: 2, run: selectChains }),
    computeRewards: memoised(deps, { name: 'computeRewards', version: 2, run: computeRewards }),
    scoreOldPolicy: memoised(deps, { name: 'scoreOldPolicy', version: 1, run: scoreOldPolicy }),
    updatePolicy: memoised(deps, { name: 'updatePolicy', version: 1, run: updatePolicy }),
    summariseEvaluation: memoised(deps, { name: 'summariseEvaluation', version: 1, run: summariseEvaluation }),
    recordMetrics: repeated(deps, recordMetrics),
    commitCheckpoint: repeated(deps, commitCheckpoint),
    renderReport: repeated(deps, renderReport),
    prepareSolving: repeated(deps, prepareSolving),
    collectSolutions: memoised(deps, { name: 'collectSolutions', version: 1, run: collectSolutions }),
  };
}

export type Units = ReturnType<typeof createUnits>;
