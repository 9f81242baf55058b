// A whole training run. Its id is the run's id; without any input it trains the embedded model by the tiny preset.
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  type ChildWorkflowHandle,
  isCancellation,
  patched,
  setHandler,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { changedBefore } from '../core/control.js';
import { countSteps } from '../core/schedule.js';
import type { RunConfig } from '../core/schema/config.js';
import type { RunProgress, RunResult } from '../core/schema/run.js';
import { controlSignal, RunControl } from './control.js';
import { plainFailure } from './failures.js';
import { index, progressQuery, showDetails, stageProgressSignal } from './messages.js';
import { runPipeline } from './pipeline.js';
import { temporalActs } from './proxies.js';
import type { StageInput } from './stage.js';
import { completed, type ProgressUpdate } from './state.js';
import { trainStage } from './trainStage.js';
import { Waiting } from './waiting.js';

export async function trainFullPipeline(input?: unknown): Promise<RunResult> {
  const runId = workflowInfo().workflowId;
  let searchAttributes = false;
  let progress: RunProgress = { runId, state: 'preparing', step: 0, totalSteps: 0 };
  let config: RunConfig | undefined;
  let child: ChildWorkflowHandle<typeof trainStage> | undefined;

  const onProgress = (update: ProgressUpdate): void => {
    const { failure, ...rest } = progress;
    progress = { ...rest, ...(failure && update.state === undefined ? { failure } : {}), ...update };
    showDetails(progress);
    index(searchAttributes, {
      state: progress.state,
      stage: progress.stage,
      phase: progress.phase,
      bestScore: progress.best?.score,
      ...(failure === progress.failure ? {} : { failure: progress.failure?.code ?? '' }),
    });
  };
  setHandler(progressQuery, () => progress);
  setHandler(stageProgressSignal, onProgress);
  const asked = new RunControl({
    state: () => progress,
    onAsked: (control) => void child?.signal(controlSignal, control).catch(ignoreEnded),
  });
  const waiting = new Waiting({
    failure: () => config!.failure,
    decisions: () => asked.control.decisions,
    working: 'evaluating',
    onProgress,
  });

  const trainInChild = async (stage: StageInput): Promise<StageInput> => {
    for (;;) {
      try {
        child = await startChild(trainStage, {
          workflowId: `${runId}/stage-${stage.stage}`,
          args: [{ ...stage, searchAttributes, control: asked.control, decided: waiting.taken }],
          parentClosePolicy: 'REQUEST_CANCEL',
          staticSummary: `stage ${stage.stage} of ${runId}`,
        });
        // what was asked while it was being started
        await child.signal(controlSignal, asked.control).catch(ignoreEnded);
        const { decided, ...done } = await child.result();
        waiting.taken = decided;
        return done;
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        await sleep('2s'); // the stage of a run that was terminated still ends
      } finally {
        child = undefined;
      }
    }
  };
  try {
    const acts = temporalActs({
      attempts: () => config?.failure.attempts ?? null,
      // steps are the stages' business: nothing here could be left out
      onFailure: (failed) =>
        config === undefined ? Promise.resolve('abort') : waiting.decisionOn({ ...failed, inStep: false }),
    });
    return await runPipeline(acts, runId, input, {
      onProgress,
      onPrepared: (prepared) => {
        config = completed(prepared.config);
        asked.prepared(changedBefore(config, prepared.controls));
        searchAttributes = prepared.searchAttributes;
        progress = { ...progress, totalSteps: countSteps(prepared.config) };
        index(searchAttributes, { model: prepared.config.model });
      },
      isGated: () => patched('health-gate'),
      runStage: trainInChild,
      onTrained: () => asked.close(),
    });
  } catch (error) {
    if (!isCancellation(error)) onProgress({ state: 'failed' });
    throw plainFailure(error);
  }
}

/** A stage that has just ended hears of nothing more; the next one is given everything at its start. */
const ignoreEnded = (): void => undefined;
