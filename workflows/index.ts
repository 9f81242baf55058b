// The workflows that an orchestrator serves.
export { solveProblems } from './solveProblems.js';
export { trainFullPipeline } from './trainFullPipeline.js';
