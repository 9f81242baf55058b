// One line for each activity of a run in the timeline of the Web UI, beside its name.

/** The fields of activity inputs that say what the activity is for. */
interface SummaryFields {
  split?: string;
  target?: { split: string; checkpoint: string | { stage: number; epoch: number } };
  metrics?: { kind: string; step: number };
}

/** @param step the step that the activity belongs to */
export function summaryOf(input: object, step?: string): string | undefined {
  const { split, target, metrics } = input as SummaryFields;
  const checkpoint = target?.checkpoint;
  const parts = [
    step,
    (split ?? target?.split) && `${split ?? target?.split} split`,
    checkpoint &&
      (typeof checkpoint === 'string' ? checkpoint : `stage ${checkpoint.stage}, epoch ${checkpoint.epoch}`),
    metrics && `${metrics.kind} at step ${metrics.step}`,
  ];
  return parts.filter(Boolean).join(' · ') || undefined;
}
