// The workflows that an orchestrator serves.
export { evaluateCheckpoint } from './evaluateCheckpoint.js';
export { hardenProblemSet } from './hardenProblemSet.js';
export { solveProblems } from './solveProblems.js';
export { trainFullPipeline } from './trainFullPipeline.js';
