// A run in this process that tests can control. It uses the pipeline, the queue of requests and the decisions of the workflow,
// without a server. Unlike in the workflow, no call is retried, and updates are plain calls.
import { createActivities } from '../../activities/index.js';
import { type Decision, type Request, RequestQueue } from '../../core/run/control.js';
import { stepsLeft } from '../../core/run/schedule.js';
import type { ControlMetrics, StepMetrics } from '../../core/schema/metrics.js';
import type { RunProgress, RunResult } from '../../core/schema/run.js';
import { type Activities, callOf } from '../../method/activities.js';
import { readControls, readMetrics } from '../../store/runs.js';
import { type DecisionHost, Decisions } from '../../workflows/decisions.js';
import { describeFailure } from '../../workflows/failures.js';
import { decided } from '../../workflows/layers.js';
import { runPipeline } from '../../workflows/pipeline.js';
import { localHost, type RunHost, type RunState } from '../../workflows/runState.js';
import { type Doubles, memoryDoubles } from '../support/doubles.js';
import { type Bytes, bytesOf, disturbances, RUN } from './disturbances.js';

/** The state that a run passes on as JSON when it continues as new. */
interface Snapshot {
  state: RunState;
  progress: RunProgress;
  requests: RequestQueue['snapshot'];
}

class ContinuesAsNew extends Error {
  constructor(readonly snapshot: string) {
    super('the run continues as new');
  }
}

async function condition(holds: () => boolean, limitMs = Number.POSITIVE_INFINITY): Promise<boolean> {
  for (const end = Date.now() + limitMs; !holds(); await new Promise((resolve) => setTimeout(resolve, 1)))
    if (Date.now() >= end) return false;
  return true;
}

export interface LocalOptions {
  /** Continues as new before every step, as if the server suggested it each time. */
  continues?: boolean;
}

interface Watcher {
  holds(progress: RunProgress): boolean;
  found(progress: RunProgress): void;
  fails(error: Error): void;
}

export class LocalRun {
  executions = 0;
  progress: RunProgress;
  requests = new RequestQueue();
  private decisions = this.newDecisions();
  private watchers: Watcher[] = [];
  private readonly ended: Promise<RunResult>;

  constructor(
    private readonly activities: Activities,
    private readonly runId: string,
    input: unknown,
    private readonly options: LocalOptions,
  ) {
    this.progress = { runId, state: 'preparing', step: 0, totalSteps: 0 };
    this.ended = this.run(input);
    const isOver = (): void => {
      for (const { fails } of this.watchers) fails(new Error(`the run ended: ${JSON.stringify(this.progress)}`));
    };
    this.ended.then(isOver, isOver);
  }

  result(): Promise<RunResult> {
    return this.ended;
  }

  async update(kind: Request['kind'] | 'decide', argument?: unknown): Promise<void> {
    if (kind === 'decide') {
      this.decisions.validate(argument);
      this.decisions.accept(argument as Decision);
      return;
    }
    this.requests.validate(kind, argument);
    const at = new Date().toISOString();
    this.requests.accept(kind === 'change' ? { kind, fields: argument as Record<string, unknown>, at } : { kind, at });
  }

  private newDecisions(): Decisions {
    const run = this;
    const monitor = {
      get progress() {
        return run.progress;
      },
      update: (change: Partial<RunProgress>) => run.show(change),
    };
    const { requests } = this;
    return new Decisions({
      monitor,
      requests,
      condition: condition as DecisionHost['condition'],
    });
  }
  private show(change: Partial<RunProgress>): void {
    this.progress = { ...this.progress, ...change };
    this.watchers = this.watchers.filter(({ holds, found }) => !holds(this.progress) || found(this.progress));
  }
  /** The next progress for which the condition holds. A run changes its progress faster than a timer could check. */
  when(holds: (progress: RunProgress) => boolean): Promise<RunProgress> {
    return new Promise((resolve, fails) => {
      if (holds(this.progress)) resolve(this.progress);
      else this.watchers.push({ holds, found: resolve, fails });
    });
  }

  private async run(input: unknown, snapshot?: Snapshot): Promise<RunResult> {
    try {
      return await runPipeline(this.host(snapshot), this.runId, input, snapshot?.state);
    } catch (error) {
      if (error instanceof ContinuesAsNew) return this.run(input, JSON.parse(error.snapshot) as Snapshot);
      this.show({ state: 'failed', failure: describeFailure(error) });
      throw error;
    }
  }

  private host(snapshot?: Snapshot): RunHost {
    this.executions++;
    const requests = new RequestQueue(snapshot?.requests);
    this.requests = requests;
    const decisions = this.newDecisions();
    this.decisions = decisions;
    const onConfig = (state: RunState): void => {
      decisions.settings = state.config.failure;
      requests.configure(state.config, state.recordedRequests);
      this.show({ totalSteps: state.step + stepsLeft(state) });
    };
    if (snapshot !== undefined) {
      onConfig(snapshot.state);
      if (snapshot.state.stopped !== undefined) requests.close();
    }
    const call = callOf(this.activities);
    let calls = 0;
    let stage = snapshot?.state.stage;
    return {
      ...localHost(call),
      call: (step) => {
        const deciding = decided((failure) => decisions.ask(failure), step !== undefined)(call);
        return (activity, given) => {
          calls++;
          return deciding(activity, given);
        };
      },
      onProgress: (change) => this.show(change),
      onConfig,
      requests,
      waitForRequest: async () => void (await condition(() => !requests.isEmpty)),
      isContinueAsNewDue: (state) => {
        stage ||= state.stage; // as in the workflow
        return this.options.continues === true && (state.stage !== stage || calls > 0);
      },
      continueAsNew: async (state) => {
        const { progress } = this;
        const next: Snapshot = { state, progress, requests: requests.snapshot };
        throw new ContinuesAsNew(JSON.stringify(next));
      },
    };
  }
}

/** Must be called in a suite. Gives each test its own store, and has the functions of `runFixture` that need no server. */
export function localFixture() {
  let world: Doubles;
  let latest: LocalRun;
  const disturbed = disturbances(() => world);
  beforeEach(async () => {
    world = await memoryDoubles();
  });
  afterEach(() => disturbed.releaseAll());

  const start = (input: object = RUN, options: LocalOptions = {}, id = 'run'): LocalRun => {
    latest = new LocalRun(createActivities(world.deps), id, input, options);
    return latest;
  };
  async function until(expected: RunProgress['state'] | ((progress: RunProgress) => boolean)): Promise<RunProgress> {
    const holds = typeof expected === 'string' ? ({ state }: RunProgress) => state === expected : expected;
    return latest.when(holds);
  }
  async function completed(): Promise<Bytes> {
    await latest.result();
    return bytesOf(world.deps.store, 'run');
  }
  async function steps(id = 'run'): Promise<StepMetrics[]> {
    const records = await readMetrics(world.deps.store, id);
    return records.filter((record): record is StepMetrics => record.kind === 'step');
  }
  const controls = (): Promise<ControlMetrics[]> => readControls(world.deps.store, 'run');
  const actions = async (): Promise<[string, number][]> => (await controls()).map(({ action, step }) => [action, step]);
  const update = (...given: Parameters<LocalRun['update']>): Promise<void> => latest.update(...given);

  return {
    get world() {
      return world;
    },
    start,
    until,
    update,
    completed,
    steps,
    controls,
    actions,
    ...disturbed,
  };
}
