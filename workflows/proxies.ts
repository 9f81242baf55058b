// The activities over Temporal: which queue serves which, how long an attempt may take, and what the history says of it.
import { type ActivityInterfaceFor, type ActivityOptions, proxyActivities } from '@temporalio/workflow';
import { TASK_QUEUES } from '../core/queues.js';
import type { Acts } from './acts.js';

// An infrastructure fault is retried for as long as it lasts; faults of input or logic are marked non-retryable.
const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;
const BASE = { heartbeatTimeout: '5s', retry: RETRY } as const;

const gpu = (minutes: number): ActivityOptions => ({
  ...BASE,
  taskQueue: TASK_QUEUES.gpu,
  startToCloseTimeout: `${minutes} minutes`,
});
const sandbox: ActivityOptions = { ...BASE, taskQueue: TASK_QUEUES.sandbox, startToCloseTimeout: '5 minutes' };
const cpu: ActivityOptions = { ...BASE, taskQueue: TASK_QUEUES.cpu, startToCloseTimeout: '5 minutes' };

const OPTIONS: Record<keyof Acts, ActivityOptions> = {
  prepareRun: gpu(10),
  generateReasoning: gpu(15),
  generateTests: gpu(15),
  scoreOldPolicy: gpu(15),
  updatePolicy: gpu(30),
  prepareSolving: gpu(10),
  executeSuite: sandbox,
  selectChains: sandbox,
  computeRewards: cpu,
  summariseEvaluation: cpu,
  recordMetrics: cpu,
  commitCheckpoint: cpu,
  collectSolutions: cpu,
  renderReport: cpu,
};

/** One line in the Web UI for each activity of a history. */
export function summaryOf(name: keyof Acts, input: object): string {
  const { stage, batch, role, position, per, suite, targets, metrics } = input as Record<string, any>;
  const at = position ?? batch?.position ?? targets?.position;
  const parts: (string | undefined)[] = [
    at && `stage ${at.stage} · step ${at.step} · ${at.phase}`,
    role ?? batch?.role ?? batch?.split,
    name === 'generateReasoning' ? `reasoning ${stage}${batch.greedy ? ' greedy' : ''}` : undefined,
    name === 'generateTests' ? `tests, ${targets.kind}` : undefined,
    name === 'executeSuite' ? `${suite} suite by ${per}` : undefined,
    metrics && `${metrics.kind} ${metrics.step}`,
    name === 'commitCheckpoint' ? `stage ${stage} epoch ${(input as { epoch: number }).epoch}` : undefined,
  ];
  return parts.filter(Boolean).join(' · ') || name;
}

export function temporalActs(): Acts {
  const acts = Object.entries(OPTIONS).map(([key, options]) => {
    const name = key as keyof Acts;
    const activity = proxyActivities<ActivityInterfaceFor<Acts>>(options)[name] as {
      executeWithOptions(options: ActivityOptions, args: unknown[]): Promise<unknown>;
    };
    return [
      name,
      (input: object) => activity.executeWithOptions({ ...options, summary: summaryOf(name, input) }, [input]),
    ];
  });
  return Object.fromEntries(acts) as Acts;
}
