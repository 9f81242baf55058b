// A stage as a workflow: up to sixteen steps a history, some 800 events, then it continues as new. Its state is digests and figures. Where the
// run itself is to continue as new, which it cannot over a stage at work, the stage ends early and is begun again.
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  patched,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { type Control, isControl } from '../core/control.js';
import type { ModelWorkerClaim } from '../core/queues.js';
import { controlSignal, handBackSignal } from './control.js';
import { index, SHORT_EPOCHS, stageProgressSignal } from './messages.js';
import { ModelWorker } from './modelWorker.js';
import { temporalActs } from './proxies.js';
import { runStage } from './stage.js';
import { planOf, type StageInput } from './stageInput.js';
import { completed, type ProgressUpdate } from './state.js';
import { FailureSettings, Waiting } from './waiting.js';

const STEPS_A_HISTORY = 16;
const LONGER_STEPS_A_HISTORY = 10; // before epochs were short

export interface TrainStageInput extends StageInput {
  searchAttributes: boolean;
  control: Control; // asked of the run so far
  decided: number; // decisions that earlier failures had
  models?: { claim?: ModelWorkerClaim | undefined }; // absent: of a run that keeps to no worker
}

export interface TrainStageResult extends StageInput {
  decided: number;
  models?: { claim?: ModelWorkerClaim | undefined };
}

export async function trainStage(input: TrainStageInput): Promise<TrainStageResult> {
  const { searchAttributes, stage } = input;
  const config = completed(input.config);
  let { control } = input;
  setHandler(controlSignal, (latest) => {
    if (!isControl(latest)) return;
    if (latest.requests.length + latest.decisions.length >= control.requests.length + control.decisions.length)
      control = latest;
  });
  const joined = patched('steps-of-few-activities');
  const shortEpochs = patched(SHORT_EPOCHS);
  let handedBack = false;
  setHandler(handBackSignal, () => {
    handedBack = true;
  });
  const { parent } = workflowInfo();
  const run = parent && getExternalWorkflowHandle(parent.workflowId, parent.runId);
  index(searchAttributes, { stage, model: config.model, phase: planOf(input)[input.next]?.phase }, !shortEpochs);

  let told: Promise<void> = Promise.resolve();
  const onProgress = async (update: ProgressUpdate): Promise<void> => {
    const at = update.phase && `stage ${stage} · ${update.phase} · epoch ${update.epoch} · step ${update.step}`;
    const failed = update.failure && `${update.failure.activity}: ${update.failure.message}`;
    const details = failed ?? at ?? (update.state && `stage ${stage} · ${update.state}`);
    if (details !== undefined) setCurrentDetails(details);
    const { phase, best, state } = update;
    index(searchAttributes, { phase, bestScore: best?.score, state }, !shortEpochs);
    if (run === undefined) return;
    told = told.then(() => run.signal(stageProgressSignal, update)); // in order, the next step does not wait for it
    told.catch(ignore);
    if (!joined) await told;
  };
  const failure = new FailureSettings(config.failure);
  const waiting = new Waiting(
    { failure: () => failure.get(), decisions: () => control.decisions, working: 'training', onProgress },
    input.decided,
  );
  const modelWorker = input.models && new ModelWorker(input.models.claim);
  const acts = temporalActs({
    modelWorker,
    attempts: () => failure.get().attempts,
    onFailure: (failed) => waiting.decisionOn(failed),
  });
  const most = shortEpochs ? STEPS_A_HISTORY : LONGER_STEPS_A_HISTORY;
  const ends = (): boolean => handedBack || workflowInfo().continueAsNewSuggested;
  const reached = await runStage(acts, input, {
    onProgress,
    countsLeftOut: () => patched('left-out-steps-count'),
    letsClosedEpochsBe: () => patched('closed-epochs-stay'),
    onConfig: (changed) => failure.change(changed.failure),
    joined,
    shortEpochs,
    requests: () => control.requests,
    moreRequests: (count) => condition(() => control.requests.length > count || ends()),
    now: () => new Date().toISOString(),
    endsAfter: (steps) => steps >= most || ends(),
  });
  await told;
  const done = {
    ...reached,
    decided: waiting.taken,
    ...(modelWorker && { models: { claim: modelWorker.claim } }),
  };
  if (reached.stopped !== undefined || reached.next >= planOf(reached).length) return done;
  await condition(allHandlersFinished);
  if (handedBack) return done;
  return continueAsNew<typeof trainStage>({ ...done, searchAttributes, control });
}

/** Whoever waits for it hears of it. */
const ignore = (): void => undefined;
