// A stage as a workflow: up to ten steps a history, then it continues as new. Its state is digests and figures.
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import { planStage } from '../core/schedule.js';
import { index, stageProgressSignal } from './messages.js';
import { temporalActs } from './proxies.js';
import { runStage, type StageInput } from './stage.js';
import type { ProgressUpdate, TrainingState } from './state.js';

const STEPS_A_HISTORY = 10;

export interface TrainStageInput extends StageInput {
  searchAttributes: boolean;
}

export async function trainStage(input: TrainStageInput): Promise<TrainingState> {
  const { searchAttributes, stage, config } = input;
  const { parent } = workflowInfo();
  const run = parent && getExternalWorkflowHandle(parent.workflowId, parent.runId);
  const plan = planStage(config, stage);
  index(searchAttributes, { stage, model: config.model, phase: plan[input.next]?.phase });

  const onProgress = async (update: ProgressUpdate): Promise<void> => {
    setCurrentDetails(`stage ${stage} · ${update.phase} · epoch ${update.epoch} · step ${update.step}`);
    index(searchAttributes, { phase: update.phase, bestScore: update.best?.score });
    await run?.signal(stageProgressSignal, update);
  };
  const pauseAfter = (steps: number): boolean => steps >= STEPS_A_HISTORY || workflowInfo().continueAsNewSuggested;
  const reached = await runStage(temporalActs(), input, { onProgress, pauseAfter });
  if (reached.next < plan.length) {
    await condition(allHandlersFinished);
    await continueAsNew<typeof trainStage>({ ...reached, searchAttributes });
  }
  return reached.state;
}
