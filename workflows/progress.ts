// What a run shows while it is running: the `progress` query, search attributes, and details in the Web UI.
import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, setCurrentDetails, setHandler, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { Position } from '../activities/types.js';
import type { StepMetrics } from '../core/schema/metrics.js';
import type { RunProgress } from '../core/schema/run.js';
import { type ProgressUpdate, type RunState, totalSteps } from './runState.js';

export const progressQuery = defineQuery<RunProgress>('progress');

const ATTRIBUTES = {
  state: defineSearchAttributeKey('GauntletState', 'KEYWORD'),
  stage: defineSearchAttributeKey('GauntletStage', 'INT'),
  phase: defineSearchAttributeKey('GauntletPhase', 'KEYWORD'),
  model: defineSearchAttributeKey('GauntletModel', 'KEYWORD'),
  bestScore: defineSearchAttributeKey('GauntletBestScore', 'DOUBLE'),
  failure: defineSearchAttributeKey('GauntletFailure', 'KEYWORD'), // code of the failure that needs a decision
} as const;

type AttributeValues = { [name in keyof typeof ATTRIBUTES]?: string | number | undefined };

/** Writes the attributes that changed: each write costs the server as much as an activity. */
export function upsertChangedAttributes(values: AttributeValues): void {
  const current = new Map(
    workflowInfo()
      .typedSearchAttributes.getAll()
      .map(({ key, value }): [string, unknown] => [key.name, value]),
  );
  const changed = Object.entries(ATTRIBUTES)
    .map(([name, key]) => ({ key, value: values[name as keyof AttributeValues] ?? null }))
    .filter(({ key, value }) => (current.get(key.name) ?? null) !== value);
  if (changed.length > 0) upsertSearchAttributes(changed as Parameters<typeof upsertSearchAttributes>[0]);
}

/** Holds the progress of a run and shows every change of it. */
export class RunMonitor {
  /** Set once the server is known to have the search attributes; a write to an unknown one would fail the workflow task. */
  model: string | undefined;

  constructor(public progress: RunProgress) {
    setHandler(progressQuery, () => this.progress);
  }

  update(change: ProgressUpdate): void {
    this.progress = { ...this.progress, ...change };
    setCurrentDetails(detailsOf(this.progress));
    if (this.model === undefined) return;
    const { state, stage, phase, best, failure } = this.progress;
    const values = { state, stage, phase, model: this.model, bestScore: best?.score, failure: failure?.code };
    upsertChangedAttributes(values);
  }
}

/** Markdown for the Web UI. */
export function detailsOf(progress: RunProgress): string {
  const { runId, state, step, stage, phase, epoch, reward, validation, best, failure } = progress;
  const resume = `\`gauntlet resume ${runId}\``;
  const lines = [
    `**${state}** · step ${step} of ${progress.totalSteps}`,
    failure && `\`${failure.activity}\` failed: ${failure.code}: ${failure.message}`,
    state === 'waiting' &&
      `Continue with ${resume}${failure?.inStep ? ', skip the step with `--skip`,' : ''} or end the run with \`--abort\`.`,
    (state === 'paused' || state === 'failed') && `Continue with ${resume}.`,
    stage !== undefined && `stage ${stage} · ${phase} · epoch ${epoch}`,
    reward !== undefined && `reward ${reward.toFixed(3)}`,
    validation?.passRate !== undefined && `validation pass rate ${(100 * validation.passRate).toFixed(1)} %`,
    best && `best \`${best.name}\` (${best.score.toFixed(3)})`,
  ];
  return lines.filter(Boolean).join('\n\n');
}

/** The progress after a step. */
export function stepProgress(state: RunState, position: Position, metrics: StepMetrics): ProgressUpdate {
  const { stage, phase, epoch, role } = position;
  const { best, validation } = state;
  return {
    ...{ stage, phase, epoch, step: state.step, totalSteps: totalSteps(state), validation },
    ...{ reward: metrics.reward, tokensPerSecond: metrics.tokensPerSecond },
    ...(role === 'generator' && { passRate: metrics.passRate }),
    ...(metrics.validity !== undefined && { validity: metrics.validity }),
    best: { name: best.name, score: best.score },
  };
}
