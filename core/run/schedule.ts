// The plan of a run as data: the order of its policy updates. Nothing else decides the order.
import type { Role, Stage } from '../schema/chain.js';
import { type RunConfig, trainsDiscriminator } from '../schema/config.js';

export const PHASES = ['warm-start', 'discriminator', 'generator', 'alternating'] as const;
export type Phase = (typeof PHASES)[number];

/** One policy update of one role. */
export interface PlannedStep {
  epoch: number; // 1-based in its stage; a checkpoint follows the last step of every epoch
  phase: Phase;
  step: number; // 1-based in its stage
  role: Role;
}

type ScheduleConfig = Pick<RunConfig, 'schedule' | 'discriminator' | 'warmStart'>;

/** The supervised steps before the first stage, as stage 0: one epoch, the discriminator's steps first. */
export function planWarmStart(config: ScheduleConfig): PlannedStep[] {
  const { warmStart, discriminator } = config;
  const writes = discriminator.enabled && discriminator.writer === 'model';
  const discriminatorSteps = writes ? warmStart.discriminatorSteps : 0;
  return [
    ...new Array<Role>(discriminatorSteps).fill('discriminator'),
    ...new Array<Role>(warmStart.generatorSteps).fill('generator'),
  ].map((role, i) => ({ epoch: 1, phase: 'warm-start', step: i + 1, role }));
}

/** The most steps of an epoch in a phase. */
const stepsPerEpoch = ({ epochSteps }: RunConfig['schedule'], phase: Phase): number =>
  phase === 'alternating' ? 1 : (epochSteps ?? Number.POSITIVE_INFINITY);

/**
 * N discriminator steps, N generator steps, then K alternating steps, generator first. Each phase is one epoch, or epochs of
 * `epochSteps` steps; each alternating step is an epoch. Epoch numbers have no gaps. If no discriminator learns, its steps are
 * left out and the generator's stay, so runs with and without it update the generator equally often.
 */
export function planStage(config: ScheduleConfig): PlannedStep[] {
  const { discriminatorSteps, generatorSteps, alternatingSteps } = config.schedule;
  const phases: [Phase, Role[]][] = [
    ['discriminator', new Array<Role>(discriminatorSteps).fill('discriminator')],
    ['generator', new Array<Role>(generatorSteps).fill('generator')],
    ['alternating', Array.from({ length: alternatingSteps }, (_, k) => (k % 2 === 0 ? 'generator' : 'discriminator'))],
  ];
  const plan: PlannedStep[] = [];
  let epoch = 0;
  for (const [phase, roles] of phases) {
    const most = Math.min(stepsPerEpoch(config.schedule, phase), roles.length);
    for (let start = 0; start < roles.length; start += most) {
      const live = roles
        .slice(start, start + most)
        .filter((role) => role === 'generator' || trainsDiscriminator(config));
      if (live.length > 0) epoch++;
      for (const role of live) plan.push({ epoch, phase, step: plan.length + 1, role });
    }
  }
  return plan;
}

/**
 * A stage's new plan if N or K change after `done` steps. The steps done stay. The new schedule follows from the current phase
 * on, without the steps that this phase has already had. Epoch numbers have no gaps. If the current epoch already has all its
 * steps, it ends there. If it is `closed`, it already has its checkpoint and gets no further step.
 */
export function replan(done: readonly PlannedStep[], config: ScheduleConfig, closed = false): PlannedStep[] {
  const last = done.at(-1);
  if (last === undefined) return planStage(config);
  const had = done.filter((step) => step.phase === last.phase).length;
  const reached = PHASES.indexOf(last.phase);
  const seen: Partial<Record<Phase, number>> = {};
  const rest = planStage(config).filter(({ phase }) => {
    seen[phase] = (seen[phase] ?? 0) + 1;
    const at = PHASES.indexOf(phase);
    return at > reached || (at === reached && seen[phase]! > had);
  });
  const plan = [...done];
  let inEpoch = done.filter(({ epoch }) => epoch === last.epoch).length;
  for (const step of rest) {
    const before = plan.at(-1)!;
    const isOpen = !closed || plan.length > done.length;
    const isFull = inEpoch >= stepsPerEpoch(config.schedule, step.phase);
    const sameEpoch = isOpen && step.phase === before.phase && !isFull;
    inEpoch = sameEpoch ? inEpoch + 1 : 1;
    plan.push({ ...step, epoch: before.epoch + (sameEpoch ? 0 : 1), step: plan.length + 1 });
  }
  return plan;
}

/** True for the last step of an epoch, after which a checkpoint is written. */
export function endsEpoch(plan: readonly PlannedStep[], index: number): boolean {
  return plan[index] !== undefined && plan[index + 1]?.epoch !== plan[index]!.epoch;
}

/** The number of policy updates of one role or both in all stages, without the warm start. */
export function countSteps(config: ScheduleConfig, role?: Role): number {
  const perStage = planStage(config).filter((step) => role === undefined || step.role === role).length;
  return perStage * config.schedule.stages.length;
}

/** Where a run is in its schedule. */
export interface SchedulePosition {
  config: ScheduleConfig;
  stage: Stage | 0; // 0: during or before the warm start
  next: number; // index of the next step in the plan of the stage
  plan?: PlannedStep[] | undefined; // set if the plan differs from that of the configuration, because of a live change
}

export const planOf = ({ plan, config, stage }: SchedulePosition): PlannedStep[] =>
  plan ?? (stage === 0 ? planWarmStart(config) : planStage(config));

/** The next step of the current stage; undefined if none is left. */
export const nextStep = (position: SchedulePosition & { stopped?: string }): PlannedStep | undefined =>
  position.stopped === undefined ? planOf(position)[position.next] : undefined;

/** The current stage, if it has begun, and all later stages. Stage 0 is the warm start, if the run has one. */
export function remainingStages({ config, stage }: SchedulePosition): (Stage | 0)[] {
  const warmStart = planWarmStart(config).length > 0 ? [0 as const] : [];
  return [...warmStart, ...config.schedule.stages].filter((each) => each >= stage);
}

/** The number of policy updates that are left in the whole run. */
export function stepsLeft(position: SchedulePosition): number {
  const later = position.config.schedule.stages.filter((stage) => stage > position.stage).length;
  const current = planOf(position).length - position.next;
  return current + later * planStage(position.config).length;
}
