// Everything after the last step: the best checkpoint is evaluated on the test split, one chain is shown, and the report
// is rendered.
import type { EvaluationRates, RunResult } from '../core/schema/run.js';
import { renderReport } from '../method/records.js';
import { evaluate } from './evaluation.js';
import type { RunContext, RunState } from './runState.js';
import { solve } from './solveProblems.js';

export async function finishRun(context: RunContext, state: RunState): Promise<RunResult> {
  const call = context.call();
  context.onProgress({ state: 'evaluating' });
  const { run, config, step, best, stopped } = state;
  const { verdict } = await evaluate(context, state, {
    target: { split: 'test', step, checkpoint: best.name },
    policy: best.policy,
    greedy: true,
  });
  const { rates, problems } = await verdict;
  // absent fields are left out, so that a run in this process returns the same object as a workflow
  const result: RunResult = {
    runId: run.runId,
    seed: config.seed,
    ...(problems && { problems }),
    before: state.before,
    ...(state.warmStart?.rates && { warmStart: state.warmStart.rates }),
    after: rates as EvaluationRates,
    trainingSeconds: state.seconds,
    digests: { generator: best.policy.generator.adapter, discriminator: best.policy.discriminator.adapter },
    best: best.name,
    ...(stopped && { stopped }),
  };
  const { views } = await solve(call, {
    run,
    source: config.problems,
    split: 'test',
    limit: 1,
    temperature: config.evaluation.temperature,
    tests: config.discriminator.enabled,
    checkpoint: { runId: run.runId, name: best.name },
  });
  const { path } = await call(renderReport, { runId: run.runId, result, example: views });
  context.onProgress({ state: 'completed' });
  return path === undefined ? result : { ...result, report: path };
}
