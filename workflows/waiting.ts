// A failure that trying again cannot mend: the workflow shows it and waits for a person, up to a limit. Nothing is lost
// meanwhile; what is finished is in the store.
import { condition, patched } from '@temporalio/workflow';
import type { Decision } from '../core/control.js';
import type { RunConfig } from '../core/schema/config.js';
import type { RunFailure } from '../core/schema/run.js';
import type { ProgressUpdate } from './state.js';

type Settings = RunConfig['failure'];

/** What a failure does, as live changes have left it. */
export class FailureSettings {
  private now: Settings;

  constructor(private readonly first: Settings) {
    this.now = first;
  }

  change(now: Settings): void {
    this.now = now;
  }

  /** A history that went on past a change before changes were followed keeps to what it began with. */
  get(): Settings {
    const isFirst = JSON.stringify(this.now) === JSON.stringify(this.first);
    return isFirst || patched('failure-settings-change') ? this.now : this.first;
  }
}

export interface WaitingHooks {
  failure(): Settings;
  decisions(): readonly Decision[];
  working: 'training' | 'evaluating'; // what goes on after a decision
  onProgress(update: ProgressUpdate): void | Promise<void>;
}

/** Decisions are taken in order, one a failure: a step and the evaluation beside it ask one after the other. */
export class Waiting {
  private last: Promise<unknown> | undefined;

  constructor(
    private readonly hooks: WaitingHooks,
    public taken = 0, // decisions that earlier failures had
  ) {}

  /** 'abort' where nobody is to be waited for, or nobody came in time. */
  decisionOn(failure: RunFailure): Promise<Decision> {
    const decision = this.last === undefined ? this.ask(failure) : this.last.then(() => this.ask(failure));
    this.last = decision.catch(() => undefined);
    return decision;
  }

  private async ask(failure: RunFailure): Promise<Decision> {
    const { onFailure, waitHours } = this.hooks.failure();
    if (onFailure === 'fail') return 'abort';
    await this.hooks.onProgress({ state: 'waiting', failure });
    const came = await condition(() => this.hooks.decisions().length > this.taken, waitHours * 3600_000);
    const decision = came ? this.hooks.decisions()[this.taken]! : 'abort';
    if (came) this.taken++;
    await this.hooks.onProgress({ state: this.hooks.working });
    return decision;
  }
}
