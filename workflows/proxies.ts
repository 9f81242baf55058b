// The activities over Temporal: which queue serves which, how long an attempt may take, and what the history says of it.
import { type ActivityInterfaceFor, type ActivityOptions, isCancellation, proxyActivities } from '@temporalio/workflow';
import type { JudgeEvaluationInput } from '../activities/compositeActivities.js';
import type { ChainBatch, Position, TestTargets } from '../activities/types.js';
import type { Decision } from '../core/control.js';
import { TASK_QUEUES } from '../core/queues.js';
import { checkpointName } from '../core/schema/checkpoint.js';
import type { RunMetrics } from '../core/schema/metrics.js';
import type { RunFailure } from '../core/schema/run.js';
import type { Acts } from './acts.js';
import { rootOf } from './failures.js';
import { FanOut } from './fanOut.js';
import type { ModelWorker } from './modelWorker.js';
import { StepLeftOut } from './stageInput.js';

// An infrastructure fault is retried for as long as it lasts; faults of input or logic are marked non-retryable.
const RETRY = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;
const BASE = { heartbeatTimeout: '5s', retry: RETRY } as const;

// A batch starts over after a timeout: one that is slower than that would never end. One of a large model on a CPU takes
// hours; so do some dozens of programs that sleep up to the wall clock, of which each is run once more alone.
const WHOLE_BATCH = 12 * 60;

const gpu = (minutes: number): ActivityOptions => ({
  ...BASE,
  taskQueue: TASK_QUEUES.gpu,
  startToCloseTimeout: `${minutes} minutes`,
});
const sandbox: ActivityOptions = {
  ...BASE,
  taskQueue: TASK_QUEUES.sandbox,
  startToCloseTimeout: `${WHOLE_BATCH} minutes`,
};
const cpu: ActivityOptions = { ...BASE, taskQueue: TASK_QUEUES.cpu, startToCloseTimeout: '5 minutes' };

const OPTIONS: Record<keyof Acts, ActivityOptions> = {
  prepareRun: gpu(10),
  reviseRun: cpu,
  generateChains: gpu(WHOLE_BATCH),
  generateTests: gpu(WHOLE_BATCH),
  trainPolicy: gpu(WHOLE_BATCH),
  generateEvaluation: gpu(WHOLE_BATCH),
  prepareSolving: gpu(10),
  quarantineProblems: sandbox,
  executeSuite: sandbox,
  judgeEvaluation: sandbox,
  selectChains: sandbox,
  recordMetrics: cpu,
  collectSolutions: cpu,
  renderReport: cpu,
};

/** The fields of activity inputs that tell a person where in a run an activity is. */
interface Described {
  stage?: number;
  epoch?: number;
  split?: string;
  target?: JudgeEvaluationInput['target'];
  role?: string;
  per?: string;
  suite?: string;
  position?: Position;
  batch?: ChainBatch;
  targets?: TestTargets;
  metrics?: RunMetrics;
  evaluation?: object;
}

/** One line in the Web UI for each activity of a history. */
export function summaryOf(name: keyof Acts, input: object): string {
  const { stage, epoch, split, target, role, per, suite, position, batch, targets, metrics, evaluation } =
    input as Described;
  const trained = batch?.kind === 'train' ? batch : undefined;
  const evaluated = batch?.kind === 'evaluation' ? batch : undefined;
  const at = position ?? trained?.position ?? (targets?.kind === 'evaluation' ? undefined : targets?.position);
  const parts = [
    at && `stage ${at.stage} · step ${at.step} · ${at.phase}`,
    role ?? trained?.role,
    evaluated && `${evaluated.split}${evaluated.greedy ? ' greedy' : ''}`,
    name === 'generateChains' && 'chains',
    split && `chains and tests of the ${split} split`,
    target &&
      (target.split === 'test'
        ? `${target.checkpoint} on the test split`
        : checkpointName(target.checkpoint.stage, target.checkpoint.epoch)),
    evaluation && 'and chains and tests of the validation split',
    targets && `tests (${targets.kind})`,
    suite && `${suite} suite by ${per}`,
    metrics && `${metrics.kind} at step ${metrics.step}`,
    epoch !== undefined && `checkpoint of stage ${stage}, epoch ${epoch}`,
  ];
  return parts.filter(Boolean).join(' · ') || name;
}

/** What a step computes can be left out with it; a record, a checkpoint or an evaluation cannot. */
function partOfStep(name: keyof Acts, input: object): boolean {
  const { position, batch, targets } = input as Described;
  if (name === 'executeSuite') return (input as { suite?: string }).suite === 'baseline';
  return position !== undefined || batch?.kind === 'train' || (targets !== undefined && targets.kind !== 'evaluation');
}

/** What opens a base or runs one. */
const OF_MODELS: ReadonlySet<string> = new Set([
  'prepareRun',
  'prepareSolving',
  'generateChains',
  'generateTests',
  'trainPolicy',
  'generateEvaluation',
] satisfies (keyof Acts)[]);

export interface ActsHooks {
  /** Of an activity with an infrastructure fault; undefined: without limit. */
  attempts?(): number | null;
  /** An activity failed for good. */
  onFailure?(failure: RunFailure): Promise<Decision>;
  /** Absent: any worker of models takes any of its work. */
  modelWorker?: ModelWorker | undefined;
}

export function temporalActs({ attempts, onFailure, modelWorker }: ActsHooks = {}): Acts {
  const fanOut = new FanOut();
  const acts = Object.entries(OPTIONS).map(([key, options]) => {
    const name = key as keyof Acts;
    const activity = proxyActivities<ActivityInterfaceFor<Acts>>(options)[name] as {
      executeWithOptions(options: ActivityOptions, args: unknown[]): Promise<unknown>;
    };
    const call = async (input: object): Promise<unknown> => {
      for (;;) {
        const maximumAttempts = attempts?.() ?? undefined;
        const retry = maximumAttempts === undefined ? RETRY : { ...RETRY, maximumAttempts };
        const execute = (where: ActivityOptions = {}): Promise<unknown> =>
          activity.executeWithOptions({ ...options, ...where, retry, summary: summaryOf(name, input) }, [input]);
        try {
          return await fanOut.take(() =>
            modelWorker !== undefined && OF_MODELS.has(name) ? modelWorker.run(execute) : execute(),
          );
        } catch (error) {
          if (isCancellation(error) || onFailure === undefined || name === 'prepareRun') throw error;
          const { type, message } = rootOf(error);
          const failure = { activity: name, code: type, message, inStep: partOfStep(name, input) };
          const decision = await onFailure(failure);
          if (decision === 'abort') throw error;
          if (decision === 'skip') throw new StepLeftOut(`${name}: ${message}`);
        }
      }
    };
    return [name, call];
  });
  return Object.fromEntries(acts) as Acts;
}
