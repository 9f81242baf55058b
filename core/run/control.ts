// What people can ask of a training run while it is running: pause, resume, stop, change fields, decide after a failure.
import { GauntletError } from '../base/errors.js';
import { applyConfigPatch, withRecordedChanges } from '../config/liveConfig.js';
import type { RunConfig } from '../schema/config.js';
import type { ControlMetrics } from '../schema/metrics.js';
import type { RunFailure, RunProgress } from '../schema/run.js';

/** A request takes effect between two steps; requests are handled in the order in which they were made. */
export type Request = { at: string } & ( // `at` is a time in ISO 8601
  | { kind: 'pause' | 'resume' | 'stop' }
  | { kind: 'change'; fields: Record<string, unknown> } // nested config fields
);

/** The requests that a run has accepted and not applied yet. */
export class RequestQueue {
  /** The configuration after all accepted requests; undefined while the run is preparing. */
  config?: RunConfig;
  private closed = false;
  private stopping: boolean;

  constructor(readonly snapshot: { pending: Request[]; paused: boolean } = { pending: [], paused: false }) {
    this.stopping = snapshot.pending.some(({ kind }) => kind === 'stop');
  }

  /** Called when the run was prepared or its configuration changed. `records` are requests that the run will apply again. */
  configure(config: RunConfig, records: readonly ControlMetrics[] = []): void {
    this.config = this.snapshot.pending.reduce(
      (now, request) => (request.kind === 'change' ? applyConfigPatch(now, request.fields) : now),
      withRecordedChanges(config, records),
    );
  }

  /** Refuses all further requests, because none can take effect. */
  close(): void {
    this.closed = true;
  }

  /** @throws GauntletError BAD_INPUT | BAD_CONFIG if the request cannot take effect */
  validate(kind: Request['kind'], fields?: unknown): void {
    const refuse = (message: string): never => {
      throw new GauntletError('BAD_INPUT', message);
    };
    if (this.closed) refuse('the last step is done: nothing is left to control');
    if (this.stopping && kind !== 'stop') refuse('the run stops after the current step');
    if (kind === 'resume' && !this.snapshot.paused) refuse('the run is not paused');
    if (kind === 'change') applyConfigPatch(this.config ?? refuse('the run is still preparing: try again'), fields);
  }

  accept(request: Request): void {
    const { kind } = request;
    this.snapshot.pending.push(request);
    if (kind === 'stop') this.stopping = true;
    if (kind === 'pause' || kind === 'resume') this.snapshot.paused = kind === 'pause';
    if (kind === 'change') this.config = applyConfigPatch(this.config!, request.fields);
  }

  take(): Request | undefined {
    return this.snapshot.pending.shift();
  }

  /**
   * What was requested and has no effect yet in a run with this state. A pause that was taken waits for the evaluation that
   * overlaps with the last step.
   */
  requestedIn(state: RunProgress['state']): Request['kind'][] {
    const kinds = this.snapshot.pending.map(({ kind }) => kind);
    const isPausing = this.isPaused && !this.stopping && state !== 'paused' && !kinds.includes('pause');
    return isPausing ? ['pause', ...kinds] : kinds;
  }

  get isEmpty(): boolean {
    return this.snapshot.pending.length === 0;
  }

  /** True if the latest of `pause` and `resume` was `pause`. */
  get isPaused(): boolean {
    return this.snapshot.paused;
  }
}

const DECISIONS = ['retry', 'skip', 'abort'] as const;
/** What a person decides about an activity that failed: run it again, skip its step, or end the run. */
export type Decision = (typeof DECISIONS)[number];

/** @throws GauntletError BAD_INPUT if no failure needs a decision, or if the failure does not allow this decision */
export function validateDecision(decision: unknown, failure: RunFailure | undefined): void {
  const refuse = (message: string): never => {
    throw new GauntletError('BAD_INPUT', message);
  };
  if (!DECISIONS.includes(decision as Decision)) refuse(`decide: expected one of ${DECISIONS.join(', ')}`);
  if (failure === undefined) refuse('no failure needs a decision');
  else if (decision === 'skip' && !failure.inStep)
    refuse(`${failure.activity} is not part of a step: it cannot be skipped`);
}

/** True if the request was recorded at this position, between two steps. */
export const isRecordedAt = (
  record: ControlMetrics,
  { stage, next, step }: { stage: number; next: number; step: number },
): boolean => record.step === step && record.stage === stage && record.next === next;
