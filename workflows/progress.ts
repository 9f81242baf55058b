// What a run shows while it is running: the `progress` query, search attributes, and details in the Web UI.
import { defineSearchAttributeKey } from '@temporalio/common';
import {
  defineQuery,
  proxySinks,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { RequestQueue } from '../core/run/control.js';
import { progressDetails } from '../core/run/progressDetails.js';
import type { RunProgress } from '../core/schema/run.js';
import { SEARCH_ATTRIBUTES, type SearchAttribute } from '../core/temporal/searchAttributes.js';
import type { ProgressUpdate } from './runState.js';

const progressQuery = defineQuery<RunProgress>('progress');
/** A run tells its worker, outside of its history, that it waits for a decision or has failed. Undefined: no longer. */
export type RunSinks = { attention: { tell(need: RunProgress | undefined): void } };
const { attention } = proxySinks<RunSinks>();

/** Holds the progress of a run and shows every change of it. */
export class RunMonitor {
  /** Set if the server knows the search attributes; a write to an unknown one would fail the workflow task. */
  model: string | undefined;
  private told: string | undefined; // what the worker was told last; undefined: nothing by this execution or worker

  /** @param requests the accepted requests; those that have no effect yet are shown */
  constructor(
    public progress: RunProgress,
    private readonly requests: RequestQueue,
  ) {
    setHandler(progressQuery, () => this.shown);
  }

  private get shown(): RunProgress {
    const requested = this.requests.requestedIn(this.progress.state);
    return requested.length > 0 ? { ...this.progress, requested } : this.progress;
  }

  update(change: ProgressUpdate): void {
    this.progress = { ...this.progress, ...change };
    setCurrentDetails(progressDetails(this.shown));
    this.tell();
    if (this.model === undefined) return;
    const { state, stage, phase, best, failure } = this.progress;
    upsertChanged({
      GauntletState: state,
      GauntletStage: stage,
      GauntletPhase: phase,
      GauntletModel: this.model,
      GauntletBestScore: best?.score,
      GauntletFailure: failure?.code,
    });
  }

  private tell(): void {
    const { state } = this.progress;
    const need = state === 'waiting' || state === 'failed' ? state : 'nothing';
    if (need === this.told || workflowInfo().unsafe.isReplaying) return;
    this.told = need;
    attention.tell(need === 'nothing' ? undefined : this.progress);
  }
}

/** Writes only the attributes that changed: a write costs the server as much as an activity. */
function upsertChanged(values: Record<SearchAttribute, string | number | undefined>): void {
  const all = workflowInfo().typedSearchAttributes.getAll();
  const current = new Map(all.map(({ key, value }): [string, unknown] => [key.name, value]));
  const changed = (Object.keys(SEARCH_ATTRIBUTES) as SearchAttribute[])
    .map((name) => ({ key: keyOf(name), value: values[name] ?? null }))
    .filter(({ key, value }) => (current.get(key.name) ?? null) !== value);
  if (changed.length > 0) upsertSearchAttributes(changed as Parameters<typeof upsertSearchAttributes>[0]);
}

const keyOf = (name: SearchAttribute) =>
  defineSearchAttributeKey(name, SEARCH_ATTRIBUTES[name].toUpperCase() as 'KEYWORD' | 'INT' | 'DOUBLE');
