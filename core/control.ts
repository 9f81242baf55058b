// What people can ask of a training run while it is running: pause, resume, stop, change fields, decide after a failure.
import type { ControlMetrics } from './schema/metrics.js';

/** A request takes effect between two steps; requests are handled in the order in which they were made. */
export type Request = { at: string } & ( // `at`: ISO 8601
  | { kind: 'pause' | 'resume' | 'stop' }
  | { kind: 'change'; fields: Record<string, unknown> } // nested config fields
);

export const DECISIONS = ['retry', 'skip', 'abort'] as const;
/** What a person decides about an activity that failed: run it again, skip its step, or end the run. */
export type Decision = (typeof DECISIONS)[number];

/** A place between two steps of a run. */
export interface StepPosition {
  stage: number;
  next: number; // index of the next step in the plan of the stage
  step: number; // policy updates done
}

/** True if the request was recorded at this position. */
export const isRecordedAt = (record: ControlMetrics, { stage, next, step }: StepPosition): boolean =>
  record.step === step && record.stage === stage && record.next === next;
