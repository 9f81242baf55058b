// Learning rates over a run, as a factor of the peak. `step` counts from 0; `total` steps are taken.

export interface ScheduleConfig {
  kind: 'constant' | 'linear' | 'cosine'; // after the warm-up
  warmup: number; // steps of linear rise
  total: number;
  floor?: number; // the last factor of a decay, 0 by default
}

/** Factor for update number `step`: (step+1)/warmup while warming up, then the decay, reaching `floor` after `total` steps. */
export function learningRateFactor(step: number, config: ScheduleConfig): number {
  if (step < config.warmup) return (step + 1) / config.warmup;
  if (config.kind === 'constant') return 1;
  const floor = config.floor ?? 0;
  const progress = Math.min(1, (step - config.warmup) / Math.max(1, config.total - config.warmup));
  const shape = config.kind === 'linear' ? 1 - progress : (1 + Math.cos(Math.PI * progress)) / 2;
  return floor + (1 - floor) * shape;
}
