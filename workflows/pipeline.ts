// The method: N discriminator steps, N generator steps and K alternating steps, stage after stage. This is pure
// orchestration over calls of activities. The workflow runs it; tests and benchmarks run it without Temporal.
import { nextStep, remainingStages } from '../core/run/schedule.js';
import type { RunResult } from '../core/schema/run.js';
import { settleEvaluation } from './evaluation.js';
import { finishRun } from './finishRun.js';
import { openRun } from './openRun.js';
import { applyRequests, skipStep } from './requests.js';
import { enterStage, type RunContext, type RunHost, type RunState } from './runState.js';
import { trainStep } from './trainStep.js';
import { finishWarmStart } from './warmStart.js';

/** @param from the state of a run that continues; absent: the run starts */
export async function runPipeline(host: RunHost, runId: string, input: unknown, from?: RunState): Promise<RunResult> {
  const context: RunContext = { ...host };
  let state = from ?? (await openRun(context, runId, input));
  for (const stage of remainingStages(state)) {
    if (stage !== state.stage) state = enterStage(state, stage);
    for (;;) {
      if (host.isContinueAsNewDue(state)) await host.continueAsNew(await settleEvaluation(context, state));
      state = await applyRequests(context, state); // requests pause, change or stop the run
      const step = nextStep(state); // one of N discriminator, N generator and K alternating steps
      if (step !== undefined) state = await trainStep(context, state, step).catch(skipStep(context, state));
      else if (context.evaluation !== undefined) state = await settleEvaluation(context, state);
      else break; // the stage has no step left, and no request arrived during its last evaluation
    }
    if (stage === 0) state = await finishWarmStart(context, state);
    if (state.stopped !== undefined) break;
  }
  host.requests.close();
  return finishRun(context, state);
}
