// One line for each activity of a run in the timeline of the Web UI.
import type { JudgeEvaluationInput } from '../activities/compositeActivities.js';
import type { ChainBatch, Position, TestTargets } from '../activities/types.js';
import { checkpointName } from '../core/schema/checkpoint.js';
import type { RunMetrics } from '../core/schema/metrics.js';

/** The fields of activity inputs that say what the activity is for. */
interface SummaryFields {
  position?: Position;
  batch?: ChainBatch;
  targets?: TestTargets;
  role?: string;
  split?: string;
  target?: JudgeEvaluationInput['target'];
  suite?: string;
  per?: string;
  metrics?: RunMetrics;
  evaluation?: object;
}

export function summaryOf(name: string, input: object): string {
  const { batch, targets, role, split, target, suite, per, metrics, evaluation, ...fields } = input as SummaryFields;
  const ofBatch = batch?.kind === 'train' ? batch : undefined;
  const ofTargets = targets?.kind === 'evaluation' ? undefined : targets?.position;
  const position = fields.position ?? ofBatch?.position ?? ofTargets;
  const parts = [
    position && `stage ${position.stage} · step ${position.step} · ${position.phase}`,
    role ?? ofBatch?.role,
    name === 'generateChains' && 'chains',
    split && `chains and tests of the ${split} split`,
    target?.split === 'test' && `${target.checkpoint} on the test split`,
    target?.split === 'validation' && checkpointName(target.checkpoint.stage, target.checkpoint.epoch),
    evaluation && 'and chains and tests of the validation split',
    targets && `tests (${targets.kind})`,
    suite && `${suite} suite by ${per}`,
    metrics && `${metrics.kind} at step ${metrics.step}`,
  ];
  return parts.filter(Boolean).join(' · ') || name;
}
