// A whole training run. Its id is the run's id; without any input it trains the embedded model by the tiny preset.
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  allHandlersFinished,
  type ChildWorkflowHandle,
  ContinueAsNew,
  condition,
  continueAsNew,
  isCancellation,
  patched,
  setHandler,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { type Control, changedBefore } from '../core/control.js';
import type { ModelWorkerClaim } from '../core/queues.js';
import { countSteps } from '../core/schedule.js';
import { progressSignalSchema, type RunProgress, type RunResult } from '../core/schema/run.js';
import { afterAll, controlSignal, handBackSignal, RunControl } from './control.js';
import { plainFailure } from './failures.js';
import { index, progressQuery, SHORT_EPOCHS, showDetails, stageProgressSignal } from './messages.js';
import { ModelWorker } from './modelWorker.js';
import { type PipelineHooks, type RunState, runPipeline } from './pipeline.js';
import { temporalActs } from './proxies.js';
import type { StageInput } from './stageInput.js';
import { completed, type ProgressUpdate } from './state.js';
import { trainStage } from './trainStage.js';
import { FailureSettings, Waiting } from './waiting.js';

/** What a run takes along when it continues as new. */
export interface ContinuedRun {
  state: RunState;
  progress: RunProgress;
  control: Control; // asked so far
  decided: number; // decisions that earlier failures had
  searchAttributes: boolean;
  claim?: ModelWorkerClaim | undefined;
}

/** @param continued by the run itself, never by whoever starts one */
export async function trainFullPipeline(input?: unknown, continued?: ContinuedRun): Promise<RunResult> {
  const runId = workflowInfo().workflowId;
  let searchAttributes = continued?.searchAttributes ?? false;
  let progress: RunProgress = continued?.progress ?? { runId, state: 'preparing', step: 0, totalSteps: 0 };
  let failure = continued && new FailureSettings(completed(continued.state.at.config).failure);
  let child: ChildWorkflowHandle<typeof trainStage> | undefined;
  let handingBack = false;
  const modelWorker =
    continued !== undefined || patched('model-work-keeps-to-a-worker') ? new ModelWorker(continued?.claim) : undefined;
  const shortEpochs = patched(SHORT_EPOCHS);

  const onProgress = (update: ProgressUpdate): void => {
    const { failure, ...rest } = progress;
    progress = { ...rest, ...(failure && update.state === undefined ? { failure } : {}), ...update };
    showDetails(progress);
    const { state, stage, phase, best } = progress;
    const failed = failure === progress.failure ? {} : { failure: progress.failure?.code ?? '' };
    index(searchAttributes, { state, stage, phase, bestScore: best?.score, ...failed }, !shortEpochs);
  };
  setHandler(progressQuery, () => progress);
  /** The stage at work ends early where this history is long enough. */
  const endStageEarly = (): void => {
    if (child === undefined || handingBack || !isLong()) return;
    handingBack = true;
    void child.signal(handBackSignal).catch(ignoreEnded);
  };
  setHandler(stageProgressSignal, (update) => {
    if (!progressSignalSchema.safeParse(update).success) return; // of somebody else
    onProgress(update);
    endStageEarly();
  });
  const asked = new RunControl(
    {
      state: () => progress,
      onAsked: (control) => {
        void child?.signal(controlSignal, control).catch(ignoreEnded);
        endStageEarly();
      },
    },
    continued?.control,
  );
  const waiting = new Waiting(
    {
      failure: () => failure!.get(),
      decisions: () => asked.control.decisions,
      working: 'evaluating',
      onProgress,
    },
    continued?.decided,
  );

  const trainInChild = async (stage: StageInput): Promise<StageInput> => {
    for (;;) {
      try {
        child = await startChild(trainStage, {
          workflowId: `${runId}/stage-${stage.stage}`,
          args: [
            {
              ...stage,
              ...{ searchAttributes, control: asked.control, decided: waiting.taken },
              ...(modelWorker && { models: { claim: modelWorker.claim } }),
            },
          ],
          parentClosePolicy: 'REQUEST_CANCEL',
          staticSummary: `stage ${stage.stage} of ${runId}`,
        });
        // what was asked while it was being started
        await child.signal(controlSignal, asked.control).catch(ignoreEnded);
        const { decided, models, ...done } = await child.result();
        waiting.taken = decided;
        failure?.change(completed(done.config).failure);
        if (modelWorker) modelWorker.claim = models?.claim;
        return done;
      } catch (error) {
        if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
        await sleep('2s'); // the stage of a run that was terminated still ends
      } finally {
        child = undefined;
        handingBack = false;
      }
    }
  };
  try {
    const acts = temporalActs({
      modelWorker,
      attempts: () => failure?.get().attempts ?? null,
      // steps are the stages' business: nothing here could be left out
      onFailure: (failed) =>
        failure === undefined ? Promise.resolve('abort') : waiting.decisionOn({ ...failed, inStep: false }),
    });
    if (continued !== undefined) {
      const { at } = continued.state;
      const now = changedBefore(completed(at.config), at.controls);
      asked.prepared(afterAll(now, continued.control.requests.slice(at.asked)));
      onProgress({}); // details are a matter of the execution
    }
    const hooks: PipelineHooks = {
      onProgress,
      shortEpochs,
      onPrepared: (prepared) => {
        const config = completed(prepared.config);
        failure = new FailureSettings(config.failure);
        asked.prepared(changedBefore(config, prepared.controls));
        searchAttributes = prepared.searchAttributes;
        progress = { ...progress, totalSteps: countSteps(prepared.config) };
        index(searchAttributes, { model: prepared.config.model }, !shortEpochs);
      },
      isGated: () => patched('health-gate'),
      runStage: trainInChild,
      requests: () => asked.control.requests,
      hearsToTheEnd: () => patched('heard-to-the-end'),
      onRest: async (state) => {
        if (!isLong()) return;
        await condition(allHandlersFinished);
        const { control } = asked;
        const next = { state, progress, control, decided: waiting.taken, searchAttributes, claim: modelWorker?.claim };
        return continueAsNew<typeof trainFullPipeline>(input, next);
      },
      onTrained: () => asked.close(),
    };
    return await runPipeline(acts, runId, input, hooks, continued?.state);
  } catch (error) {
    if (error instanceof ContinueAsNew) throw error;
    if (!isCancellation(error)) onProgress({ state: 'failed' });
    throw plainFailure(error);
  }
}

/** Whether the history is to end: the server says so, at 4,096 events unless it is told otherwise. */
const isLong = (): boolean => workflowInfo().continueAsNewSuggested && patched('run-continues-as-new');

/** A stage that has just ended hears of nothing more; the next one is given everything at its start. */
const ignoreEnded = (): void => undefined;
