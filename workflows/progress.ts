// What a run shows while it is running: the `progress` query, search attributes, and details in the Web UI.
import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, setCurrentDetails, setHandler, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { progressDetails } from '../core/progressDetails.js';
import type { RunProgress } from '../core/schema/run.js';
import type { ProgressUpdate } from './runState.js';

const progressQuery = defineQuery<RunProgress>('progress');

const ATTRIBUTES = {
  state: defineSearchAttributeKey('GauntletState', 'KEYWORD'),
  stage: defineSearchAttributeKey('GauntletStage', 'INT'),
  phase: defineSearchAttributeKey('GauntletPhase', 'KEYWORD'),
  model: defineSearchAttributeKey('GauntletModel', 'KEYWORD'),
  bestScore: defineSearchAttributeKey('GauntletBestScore', 'DOUBLE'),
  failure: defineSearchAttributeKey('GauntletFailure', 'KEYWORD'), // its code
} as const;

/** Holds the progress of a run and shows every change of it. */
export class RunMonitor {
  /** Set if the server knows the search attributes; a write to an unknown one would fail the workflow task. */
  model: string | undefined;
  /** Kinds of the requests that were accepted and have no effect yet. */
  requested: () => NonNullable<RunProgress['requested']> = () => [];

  constructor(public progress: RunProgress) {
    setHandler(progressQuery, () => this.shown);
  }

  private get shown(): RunProgress {
    const requested = this.requested();
    return requested.length > 0 ? { ...this.progress, requested } : this.progress;
  }

  update(change: ProgressUpdate): void {
    this.progress = { ...this.progress, ...change };
    setCurrentDetails(progressDetails(this.shown));
    if (this.model === undefined) return;
    const { state, stage, phase, best, failure } = this.progress;
    upsertChanged({ state, stage, phase, model: this.model, bestScore: best?.score, failure: failure?.code });
  }
}

/** Writes only the attributes that changed: a write costs the server as much as an activity. */
function upsertChanged(values: Record<keyof typeof ATTRIBUTES, string | number | undefined>): void {
  const all = workflowInfo().typedSearchAttributes.getAll();
  const current = new Map(all.map(({ key, value }): [string, unknown] => [key.name, value]));
  const changed = Object.entries(ATTRIBUTES)
    .map(([name, key]) => ({ key, value: values[name as keyof typeof ATTRIBUTES] ?? null }))
    .filter(({ key, value }) => (current.get(key.name) ?? null) !== value);
  if (changed.length > 0) upsertSearchAttributes(changed as Parameters<typeof upsertSearchAttributes>[0]);
}
