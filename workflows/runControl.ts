// How people control a run: updates with validators, the queue of requests that the run has not applied yet, and the
// decision about an activity that failed.
import { condition, defineUpdate, setHandler } from '@temporalio/workflow';
import { DECISIONS, type Decision, type Request } from '../core/control.js';
import { GauntletError } from '../core/errors.js';
import { applyConfigPatch, withRecordedChanges } from '../core/liveConfig.js';
import type { RunConfig } from '../core/schema/config.js';
import type { RunFailure } from '../core/schema/run.js';
import type { RunMonitor } from './progress.js';
import type { RequestQueue, RunState } from './runState.js';

/** Each update returns one line that says what will happen. */
export const pauseUpdate = defineUpdate<string>('pause');
export const resumeUpdate = defineUpdate<string>('resume');
export const stopUpdate = defineUpdate<string>('stop');
/** Nested fields of the configuration: `{ppo: {learningRate: 0.001}}`. */
export const changeUpdate = defineUpdate<string, [Record<string, unknown>]>('change');
/** What to do about the failed activity that a waiting run names. */
export const decideUpdate = defineUpdate<string, [Decision]>('decide');

/** What the next execution of the run needs. */
export interface ControlSnapshot {
  pending: Request[];
  paused: boolean;
}

export class RunControl implements RequestQueue {
  private config?: RunConfig; // after all accepted requests
  private applied?: RunConfig; // after all applied requests
  private closed = false;
  private failure: RunFailure | undefined; // needs a decision
  private decision: Decision | undefined;

  constructor(
    private readonly monitor: RunMonitor,
    readonly snapshot: ControlSnapshot = { pending: [], paused: false },
  ) {
    const validator = (): void => this.refuseAtEnd();
    setHandler(pauseUpdate, () => this.accept('pause'), { validator });
    setHandler(resumeUpdate, () => this.accept('resume'), { validator: () => this.validateResume() });
    setHandler(stopUpdate, () => this.accept('stop'), { validator });
    setHandler(changeUpdate, (fields) => this.acceptChange(fields), {
      validator: (fields) => this.validateChange(fields),
    });
    setHandler(decideUpdate, (decision) => this.acceptDecision(decision), {
      validator: (decision) => this.validateDecision(decision),
    });
  }

  /** The state of the run after it was prepared, continued or changed. */
  onConfig({ config, recordedRequests }: RunState): void {
    this.applied = config;
    this.config = this.snapshot.pending.reduce(
      (now, request) => (request.kind === 'change' ? applyConfigPatch(now, request.fields) : now),
      withRecordedChanges(config, recordedRequests),
    );
  }

  /** No further request can take effect. */
  close(): void {
    this.closed = true;
  }

  take = (): Request | undefined => this.snapshot.pending.shift();

  isPaused = (): boolean => this.snapshot.paused;

  waitForRequest = (): Promise<void> => condition(() => this.snapshot.pending.length > 0);

  get failureSettings(): RunConfig['failure'] | undefined {
    return this.applied?.failure;
  }

  /** Waits until a person decides about a failure. Returns 'abort' if nobody does in time. Failures wait one after the other. */
  async decide(failure: RunFailure): Promise<Decision> {
    const settings = this.failureSettings;
    if (settings === undefined || settings.onFailure === 'fail') return 'abort';
    while (this.failure !== undefined) await condition(() => this.failure === undefined);
    const { state } = this.monitor.progress;
    this.failure = failure;
    this.monitor.update({ state: 'waiting', failure });
    await condition(() => this.decision !== undefined, settings.waitHours * 3600_000);
    const decision = this.decision ?? 'abort';
    this.failure = undefined;
    this.decision = undefined;
    this.monitor.update({ state, failure: undefined });
    return decision;
  }

  private accept(kind: 'pause' | 'resume' | 'stop'): string {
    this.snapshot.pending.push({ kind, at: new Date().toISOString() });
    if (kind !== 'stop') this.snapshot.paused = kind === 'pause';
    const { step } = this.monitor.progress;
    if (kind === 'resume') return `continues after step ${step}`;
    return `${kind === 'pause' ? 'pauses' : 'stops'} after the current step (${step} done)`;
  }

  private acceptChange(fields: Record<string, unknown>): string {
    this.config = applyConfigPatch(this.config!, fields);
    this.snapshot.pending.push({ kind: 'change', fields, at: new Date().toISOString() });
    return `takes effect from the next step on (${this.monitor.progress.step} done)`;
  }

  private acceptDecision(decision: Decision): string {
    this.decision = decision;
    return `${decision}: ${this.failure?.activity}`;
  }

  private refuseAtEnd(): void {
    if (this.closed) throw new GauntletError('BAD_INPUT', 'the last step is done: nothing is left to control');
  }

  private validateResume(): void {
    this.refuseAtEnd();
    if (!this.snapshot.paused) throw new GauntletError('BAD_INPUT', 'the run is not paused');
  }

  private validateChange(fields: unknown): void {
    this.refuseAtEnd();
    if (this.config === undefined) throw new GauntletError('BAD_INPUT', 'the run is still preparing: try again');
    applyConfigPatch(this.config, fields);
  }

  private validateDecision(decision: unknown): void {
    if (!DECISIONS.includes(decision as Decision)) {
      throw new GauntletError('BAD_INPUT', `decide: expected one of ${DECISIONS.join(', ')}`);
    }
    if (this.failure === undefined || this.decision !== undefined) {
      throw new GauntletError('BAD_INPUT', 'no failure needs a decision');
    }
    if (decision === 'skip' && !this.failure.inStep) {
      throw new GauntletError('BAD_INPUT', `${this.failure.activity} is not part of a step, so it cannot be skipped`);
    }
  }
}
