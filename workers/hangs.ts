// Finds activities that hang. An activity advances when a call into the store, the engine or the sandbox returns, and when
// such a call reports tokens, rows, verdicts or bytes. One that does not advance for too long fails, so that Temporal tries it
// again elsewhere, and its worker must end: nothing can stop a call into a device that never returns.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attempt, Work } from '../activities/attempt.js';
import { toFailure } from '../activities/failures.js';
import { GauntletError } from '../core/base/errors.js';

const LONGEST_GAPS = 3; // a call may take this many times its longest gap so far
const MAX_TICK_MS = 1000;

interface Call {
  name: string;
  bounds?: number; // the call may take this many times the usual bound
  limitMs?: number; // the call's own time limit, which is added to the bound
}

/** The calls that one activity is making, and how long it has not advanced. */
class Progress {
  private readonly calls: Call[] = []; // the latest call is the last one
  private silentMs = 0;
  private scale = 1; // a factor of the bound for this activity

  constructor(
    private readonly boundMs: number,
    /** The longest gap that each call had in this process. */
    private readonly longest: Map<string, number>,
  ) {}

  get doing(): string {
    return this.calls.at(-1)?.name ?? 'its own work';
  }

  advance(): void {
    this.longest.set(this.doing, Math.max(this.silentMs, this.longest.get(this.doing) ?? 0));
    this.silentMs = 0;
  }

  begin(call: Call): () => void {
    this.advance();
    this.calls.push(call);
    return () => {
      this.advance();
      this.calls.splice(this.calls.indexOf(call), 1);
    };
  }

  /** Multiplies the bound of this activity, e.g. because one run of a large graph takes minutes and reports nothing. */
  slower(times: number): void {
    this.scale = Math.max(this.scale, times);
  }

  /** Counts time in ticks, because a clock also runs while the machine sleeps. @returns the silent ms of a call that hangs */
  tick(ms: number): number | undefined {
    this.silentMs += ms;
    const times = Math.max(this.scale, ...this.calls.map(({ bounds = 1 }) => bounds));
    const limitMs = Math.max(0, ...this.calls.map((call) => call.limitMs ?? 0));
    const learnt = LONGEST_GAPS * (this.longest.get(this.doing) ?? 0);
    return this.silentMs > Math.max(this.boundMs * times + limitMs, learnt) ? this.silentMs : undefined;
  }
}

const running = new AsyncLocalStorage<Progress>();

/** The progress of the current activity, if it is watched. */
export const currentProgress = (): Pick<Progress, 'advance' | 'begin' | 'slower'> | undefined => running.getStore();

/** Watches the activities of one worker process. */
export class HangWatch {
  private readonly longest = new Map<string, number>();

  /** @param onHang called with the error before the activity fails with it */
  constructor(
    private readonly onHang: (error: GauntletError) => void,
    private readonly log: { error(fields: object, message: string): void },
    private readonly boundMs: number,
  ) {}

  async watch(attempt: Attempt, next: Work): Promise<object> {
    const progress = new Progress(this.boundMs, this.longest);
    const heartbeat = (details: unknown): void => {
      progress.advance();
      attempt.scope.heartbeat(details);
    };
    const tickMs = Math.min(MAX_TICK_MS, this.boundMs / 4);
    let timer: NodeJS.Timeout | undefined;
    const hung = new Promise<never>((_, reject) => {
      timer = setInterval(() => {
        const silentMs = progress.tick(tickMs);
        if (silentMs !== undefined) reject(this.report(attempt, progress.doing, silentMs));
      }, tickMs);
    });
    const own = { ...attempt, scope: { ...attempt.scope, heartbeat } };
    try {
      return await Promise.race([running.run(progress, () => next(own)), hung]);
    } catch (error) {
      const { type, message } = error as { type?: string; message: string };
      if (type === 'DEVICE_LOST') this.onHang(new GauntletError(type, message));
      throw error;
    } finally {
      clearInterval(timer);
    }
  }

  private report({ activity: { name: activity }, info }: Attempt, call: string, silentMs: number): Error {
    const seconds = Math.round(silentMs / 1000);
    const message = `${activity} hangs in ${call}: no progress for ${seconds} s; its worker ends and must be started again`;
    const error = new GauntletError('NO_PROGRESS', message);
    this.log.error(
      { activity, call, seconds, run: info?.workflowExecution?.workflowId, attempt: info?.attempt },
      message,
    );
    this.onHang(error);
    return toFailure(error);
  }
}
