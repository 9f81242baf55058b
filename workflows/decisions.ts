// A run waits, up to a limit, for the decision of a person about an activity that failed.
import { type Decision, type RequestQueue, validateDecision } from '../core/run/control.js';
import type { RunConfig } from '../core/schema/config.js';
import type { RunFailure, RunProgress } from '../core/schema/run.js';
import type { ProgressUpdate } from './runState.js';

/** The functions that a wait for a decision needs. The workflow implements them with Temporal. */
export interface DecisionHost {
  monitor: { readonly progress: RunProgress; update(change: ProgressUpdate): void };
  /** The accepted requests; a change may set another limit for the wait. */
  requests: Pick<RequestQueue, 'config'>;
  condition: Condition;
}

/** Waits until the function returns true. With a limit, returns whether that happened within the limit. */
interface Condition {
  (holds: () => boolean): Promise<void>;
  (holds: () => boolean, limitMs: number): Promise<boolean>;
}

export class Decisions {
  /** The current failure settings. Undefined until the run is prepared: before that, a failure ends the run. */
  settings: RunConfig['failure'] | undefined;
  private failure: RunFailure | undefined; // the failure that needs a decision
  private decision: Decision | undefined;
  private retries = 0; // how often a person has chosen to retry

  constructor(private readonly host: DecisionHost) {}

  /** @throws GauntletError BAD_INPUT if no failure needs this decision */
  validate(decision: unknown): void {
    validateDecision(decision, this.decision ? undefined : this.failure);
  }

  /** @returns one line that says what will happen */
  accept(decision: Decision): string {
    this.decision = decision;
    if (decision === 'retry') this.retries++;
    return `${decision}: ${this.failure?.activity}`;
  }

  /** Waits for a person; 'abort' if nobody decides in time. Failures wait one after the other; a retry holds for all of them. */
  async ask(failure: RunFailure): Promise<Decision> {
    const { settings } = this;
    const { monitor, condition } = this.host;
    if (settings === undefined || settings.onFailure === 'fail') return 'abort';
    const { retries } = this;
    while (this.failure !== undefined) await condition(() => this.failure === undefined);
    if (this.retries > retries) return 'retry'; // what the person repaired may have caused this failure, too
    const { state } = monitor.progress;
    this.failure = failure;
    monitor.update({ state: 'waiting', failure });
    try {
      await this.decided(settings.waitHours);
      return this.decision ?? 'abort';
    } finally {
      // needed even if the wait is cancelled because another worker has meanwhile computed the shard
      this.failure = undefined;
      this.decision = undefined;
      monitor.update({ state, failure: undefined });
    }
  }

  /** Waits for a decision, up to the limit. A change of the limit counts at once. */
  private async decided(waitHours: number): Promise<void> {
    const { condition, requests } = this.host;
    const since = Date.now();
    const limit = (): number => requests.config?.failure.waitHours ?? waitHours;
    for (let hours = limit(); ; hours = limit()) {
      const left = since + hours * HOUR_MS - Date.now();
      const isOver = left <= 0 || !(await condition(() => this.decision !== undefined || limit() !== hours, left));
      if (isOver || this.decision !== undefined) return;
    }
  }
}

const HOUR_MS = 3600_000;
