// Queries and signals of the training workflows, and what they show of themselves to people: search attributes, details.
import { defineSearchAttributeKey } from '@temporalio/common';
import {
  defineQuery,
  defineSignal,
  setCurrentDetails,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunProgress } from '../core/schema/run.js';
import type { ProgressUpdate } from './state.js';

export const progressQuery = defineQuery<RunProgress>('progress');
/** From a stage to its run. */
export const stageProgressSignal = defineSignal<[ProgressUpdate]>('stageProgress');

const STAGE = defineSearchAttributeKey('GauntletStage', 'INT');
const PHASE = defineSearchAttributeKey('GauntletPhase', 'KEYWORD');
const MODEL = defineSearchAttributeKey('GauntletModel', 'KEYWORD');
const BEST_SCORE = defineSearchAttributeKey('GauntletBestScore', 'DOUBLE');
const STATE = defineSearchAttributeKey('GauntletState', 'KEYWORD');
const FAILURE = defineSearchAttributeKey('GauntletFailure', 'KEYWORD');

/** The patch of runs and stages with two activities an evaluation, and writes of changed attributes only. */
export const SHORT_EPOCHS = 'short-epochs';

export interface Indexed {
  stage?: number;
  phase?: string;
  model?: string;
  bestScore?: number;
  state?: string;
  failure?: string; // code of what a waiting run waits for; '' for none
}

/**
 * Does nothing on a server that does not know the attributes: setting one there would fail the workflow task. Each write
 * costs the server as much as an activity, so what is as it was is left out, unless a history asks for `all`.
 */
export function index(
  enabled: boolean,
  { stage, phase, model, bestScore, state, failure }: Indexed,
  all = false,
): void {
  if (!enabled) return;
  const known = new Map(
    workflowInfo()
      .typedSearchAttributes.getAll()
      .map(({ key, value }) => [key.name, value] as const),
  );
  const pairs = [
    ...(stage === undefined ? [] : [{ key: STAGE, value: stage }]),
    ...(phase === undefined ? [] : [{ key: PHASE, value: phase }]),
    ...(model === undefined ? [] : [{ key: MODEL, value: model }]),
    ...(bestScore === undefined ? [] : [{ key: BEST_SCORE, value: bestScore }]),
    ...(state === undefined ? [] : [{ key: STATE, value: state }]),
    ...(failure === undefined ? [] : [{ key: FAILURE, value: failure === '' ? null : failure }]),
  ].filter(({ key, value }) => all || (known.get(key.name) ?? null) !== value);
  if (all || pairs.length > 0) upsertSearchAttributes(pairs);
}

const percent = (rate: number): string => `${(100 * rate).toFixed(1)} %`;

/** Markdown for the Web UI. */
export function showDetails(progress: RunProgress): void {
  const { failure, runId } = progress;
  const lines = [
    `**${progress.state}** · step ${progress.step} of ${progress.totalSteps}`,
    failure === undefined ? '' : `\`${failure.activity}\` failed: ${failure.code}: ${failure.message}`,
    failure === undefined
      ? ''
      : `go on with \`gauntlet resume ${runId}\`${failure.inStep ? ', leave the step out with `--skip`,' : ''} or end it with \`--abort\``,
    progress.state === 'paused' ? `go on with \`gauntlet resume ${runId}\`` : '',
    progress.stage === undefined ? '' : `stage ${progress.stage} · ${progress.phase} · epoch ${progress.epoch}`,
    progress.reward === undefined ? '' : `reward ${progress.reward.toFixed(3)}`,
    progress.validation?.passRate === undefined ? '' : `validation pass rate ${percent(progress.validation.passRate)}`,
    progress.best === undefined ? '' : `best \`${progress.best.name}\` (${progress.best.score.toFixed(3)})`,
  ];
  setCurrentDetails(lines.filter((line) => line !== '').join('\n\n'));
}
