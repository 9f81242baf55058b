// A training run. The workflow id is the run id. Without input it trains the embedded model with the tiny preset. Each
// stage is one execution: the run continues as new between stages, and earlier if the server suggests it.
import { ContinueAsNew, condition, continueAsNew, isCancellation, workflowInfo } from '@temporalio/workflow';
import { RequestQueue } from '../core/run/control.js';
import { stepsLeft } from '../core/run/schedule.js';
import type { RunProgress, RunResult } from '../core/schema/run.js';
import type { ModelWorkerClaim } from '../core/temporal/queues.js';
import { Decisions } from './decisions.js';
import { describeFailure, unwrapFailure } from './failures.js';
import { type CallSettings, temporalCall } from './layers.js';
import { ModelWorker } from './modelWorker.js';
import { runPipeline } from './pipeline.js';
import { RunMonitor } from './progress.js';
import { handleUpdates } from './runControl.js';
import type { OpeningState, RunHost, RunState } from './runState.js';
import { reissueStragglers } from './stragglers.js';

/** What a run takes along when it continues as new. */
export interface RunSnapshot {
  state: RunState;
  progress: RunProgress;
  requests: RequestQueue['snapshot'];
  claim?: ModelWorkerClaim | undefined;
}

/**
 * @param input a configuration. Every execution of the run has it, so that people and `gauntlet resume` can read it.
 * @param snapshot given by the run itself when it continues as new
 */
export async function trainFullPipeline(input?: unknown, snapshot?: RunSnapshot): Promise<RunResult> {
  const runId = workflowInfo().workflowId;
  const requests = new RequestQueue(snapshot?.requests);
  const monitor = new RunMonitor(snapshot?.progress ?? { runId, state: 'preparing', step: 0, totalSteps: 0 }, requests);
  if (snapshot !== undefined) requests.configure(snapshot.state.config, snapshot.state.recordedRequests);
  if (snapshot?.state.stopped !== undefined) requests.close();
  const decisions = new Decisions({ monitor, requests, condition });
  handleUpdates(monitor, requests, decisions);
  const modelWorker = new ModelWorker(snapshot?.claim);
  const settings: CallSettings = {
    modelWorker,
    maxAttempts: () => decisions.settings?.attempts ?? null,
    decide: (failure) => decisions.ask(failure),
  };
  const onConfig = (state: OpeningState): void => {
    decisions.settings = state.config.failure;
    requests.configure(state.config, state.recordedRequests);
    if (state.searchAttributes) monitor.model = state.config.model;
    monitor.update({ totalSteps: state.step + stepsLeft(state) });
  };
  let stage = snapshot?.state.stage;
  const host: RunHost = {
    call: (step) => temporalCall(settings, step),
    requests,
    waitForRequest: () => condition(() => !requests.isEmpty),
    onProgress: (update) => monitor.update(update),
    onConfig,
    runShards: reissueStragglers,
    now: () => new Date().toISOString(),
    isContinueAsNewDue: (state) => {
      stage ||= state.stage; // the warm start (stage 0) shares an execution with the first stage
      return state.stage !== stage || workflowInfo().continueAsNewSuggested;
    },
    continueAsNew: (state) => {
      const { progress } = monitor;
      const next: RunSnapshot = { state, progress, requests: requests.snapshot, claim: modelWorker.claim };
      return continueAsNew<typeof trainFullPipeline>(input, next);
    },
  };
  if (snapshot !== undefined) onConfig(snapshot.state);
  try {
    return await runPipeline(host, runId, input, snapshot?.state);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    if (!isCancellation(error)) monitor.update({ state: 'failed', failure: describeFailure(error) });
    throw unwrapFailure(error);
  }
}
