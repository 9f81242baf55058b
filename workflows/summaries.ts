// One line for each activity of a run in the timeline of the Web UI.
import type { Position } from '../activities/types.js';

/** The fields of activity inputs that say what the activity is for. */
interface SummaryFields {
  position?: Position;
  batch?: { kind: string; role?: string; position?: Position };
  targets?: { kind: string; position?: Position };
  target?: { split: string; checkpoint: string | { stage: number; epoch: number } };
  metrics?: { kind: string; step: number };
  role?: string;
  split?: string;
  suite?: string;
}

export function summaryOf(name: string, input: object): string {
  const { batch, targets, target, metrics, role, split, suite, ...fields } = input as SummaryFields;
  const position = fields.position ?? batch?.position ?? targets?.position;
  const checkpoint = target?.checkpoint;
  const parts = [
    position && `stage ${position.stage} · step ${position.step} · ${position.phase}`,
    role ?? batch?.role,
    name === 'generateChains' && 'chains',
    targets && `tests (${targets.kind})`,
    suite && `${suite} suite`,
    (split ?? target?.split) && `${split ?? target?.split} split`,
    checkpoint &&
      (typeof checkpoint === 'string' ? checkpoint : `stage ${checkpoint.stage}, epoch ${checkpoint.epoch}`),
    metrics && `${metrics.kind} at step ${metrics.step}`,
  ];
  return parts.filter(Boolean).join(' · ') || name;
}
