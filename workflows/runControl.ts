// How people control a run: updates with validators, and the decision about an activity that failed.
import { condition, defineUpdate, metricMeter, setHandler, workflowInfo } from '@temporalio/workflow';
import { type Decision, type Request, type RequestQueue, validateDecision } from '../core/control.js';
import type { RunConfig } from '../core/schema/config.js';
import type { RunFailure } from '../core/schema/run.js';
import type { RunMonitor } from './progress.js';

/** Each update returns one line that says what will happen. */
const EFFECTS: Record<Request['kind'], string> = {
  pause: 'pauses after the current step',
  resume: 'continues',
  stop: 'stops after the current step',
  change: 'takes effect from the next step on',
};

export class RunControl {
  /** The settings that are in effect. Undefined until the run was prepared: its failures then end it. */
  failureSettings: RunConfig['failure'] | undefined;
  private failure: RunFailure | undefined; // needs a decision
  private decision: Decision | undefined;

  constructor(
    private readonly monitor: RunMonitor,
    private readonly queue: RequestQueue,
  ) {
    const accept = (request: Pick<Request, 'kind'>): string => {
      queue.accept({ ...request, at: new Date().toISOString() } as Request);
      monitor.update({});
      return `${EFFECTS[request.kind]} (steps done: ${monitor.progress.step})`;
    };
    for (const kind of ['pause', 'resume', 'stop'] as const) {
      setHandler(defineUpdate<string>(kind), () => accept({ kind }), { validator: () => queue.validate(kind) });
    }
    const changeUpdate = defineUpdate<string, [Record<string, unknown>]>('change'); // {ppo: {learningRate: 0.001}}
    setHandler(changeUpdate, (fields) => accept({ kind: 'change', fields } as Request), {
      validator: (fields) => queue.validate('change', fields),
    });
    const decide = (decision: Decision): string => {
      this.decision = decision;
      return `${decision}: ${this.failure?.activity}`;
    };
    setHandler(defineUpdate<string, [Decision]>('decide'), decide, {
      validator: (decision) => validateDecision(decision, this.decision ? undefined : this.failure),
    });
  }

  /** Waits for a person; 'abort' if nobody decides in time. Failures wait one after the other. */
  async decide(failure: RunFailure): Promise<Decision> {
    const settings = this.failureSettings;
    if (settings === undefined || settings.onFailure === 'fail') return 'abort';
    while (this.failure !== undefined) await condition(() => this.failure === undefined);
    const { state } = this.monitor.progress;
    this.failure = failure;
    this.monitor.update({ state: 'waiting', failure });
    showWaiting(true);
    try {
      await this.decided(settings.waitHours);
      return this.decision ?? 'abort';
    } finally {
      showWaiting(false);
      // also if the wait is cancelled, because another worker has computed the shard meanwhile
      this.failure = undefined;
      this.decision = undefined;
      this.monitor.update({ state, failure: undefined });
    }
  }

  /** Waits for a decision, up to the limit. A change of the limit counts at once. */
  private async decided(waitHours: number): Promise<void> {
    const since = Date.now();
    const limit = (): number => this.queue.config?.failure.waitHours ?? waitHours;
    for (let hours = limit(); ; hours = limit()) {
      const left = since + hours * HOUR_MS - Date.now();
      const isOver = left <= 0 || !(await condition(() => this.decision !== undefined || limit() !== hours, left));
      if (isOver || this.decision !== undefined) return;
    }
  }
}

const HOUR_MS = 3600_000;

/** For alerts: it needs no activity, and a replay records nothing. */
function showWaiting(isWaiting: boolean): void {
  const gauge = metricMeter.createGauge(
    'gauntlet_run_waiting',
    'int',
    undefined,
    'A run waits for a decision (0 or 1)',
  );
  gauge.set(Number(isWaiting), { run: workflowInfo().workflowId });
}
