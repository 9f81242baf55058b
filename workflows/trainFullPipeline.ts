// A whole training run. Its id is the run's id; without any input it trains the embedded model by the tiny preset.
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { executeChild, isCancellation, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import { countSteps } from '../core/schedule.js';
import type { RunProgress, RunResult } from '../core/schema/run.js';
import { plainFailure } from './failures.js';
import { index, progressQuery, showDetails, stageProgressSignal } from './messages.js';
import { runPipeline } from './pipeline.js';
import { temporalActs } from './proxies.js';
import type { StageInput } from './stage.js';
import type { ProgressUpdate, TrainingState } from './state.js';
import { trainStage } from './trainStage.js';

export async function trainFullPipeline(input?: unknown): Promise<RunResult> {
  const runId = workflowInfo().workflowId;
  let searchAttributes = false;
  let progress: RunProgress = { runId, state: 'preparing', step: 0, totalSteps: 0 };
  const onProgress = (update: ProgressUpdate): void => {
    progress = { ...progress, ...update };
    showDetails(progress);
    index(searchAttributes, {
      state: progress.state,
      stage: progress.stage,
      phase: progress.phase,
      bestScore: progress.best?.score,
    });
  };
  setHandler(progressQuery, () => progress);
  setHandler(stageProgressSignal, onProgress);

  const trainInChild = async (stage: StageInput): Promise<TrainingState> => {
    for (;;) {
      try {
        return await executeChild(trainStage, {
          workflowId: `${runId}/stage-${stage.stage}`,
          args: [{ ...stage, searchAttributes }],
          parentClosePolicy: 'REQUEST_CANCEL',
          staticSummary: `stage ${stage.stage} of ${runId}`,
        });
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        await sleep('2s'); // the stage of a run that was terminated still ends
      }
    }
  };
  try {
    return await runPipeline(temporalActs(), runId, input, {
      onProgress,
      onPrepared: (prepared) => {
        searchAttributes = prepared.searchAttributes;
        progress = { ...progress, totalSteps: countSteps(prepared.config) };
        index(searchAttributes, { model: prepared.config.model });
      },
      runStage: trainInChild,
    });
  } catch (error) {
    if (!isCancellation(error)) onProgress({ state: 'failed' });
    throw plainFailure(error);
  }
}
