// The plan of a run as data: the order of its policy updates. Nothing else decides the order.
import type { Role, Stage } from '../schema/chain.js';
import { isModel, type RunConfig, trainsDiscriminator } from '../schema/config.js';

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
  const writes = discriminator.enabled && isModel(discriminator.writer);
  const discriminatorSteps = writes ? warmStart.discriminatorSteps : 0;
  return [
    ...new Array<Role>(discriminatorSteps).fill('discriminator'),
    ...new Array<Role>(warmStart.generatorSteps).fill('generator'),
  ].map((role, i) => ({ epoch: 1, phase: 'warm-start', step: i + 1, role }));
}

/** How many steps an epoch has at most. */
const stepsPerEpoch = ({ epochSteps }: RunConfig['schedule'], phase: Phase): number =>
  phase === 'alternating' ? 1 : (epochSteps ?? Number.POSITIVE_INFINITY);

/**
 * N discriminator steps, N generator steps, then K alternating steps, generator first. Each phase is one epoch, or epochs of
 * `epochSteps` steps; an alternating step is an epoch. Epochs are numbered without gaps. If no discriminator learns, its steps are
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
 * A stage's plan when N or K change after `done` steps of it: what is done stays, what follows is the new schedule from
 * the same phase on, less what that phase has had. Epochs go on without gaps; one that now has its steps ends there, and
 * one that is `closed` has its checkpoint already and gets no further step.
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

/** Policy updates of all stages, of one role or of both, without the warm start. */
export function countSteps(config: ScheduleConfig, role?: Role): number {
  const perStage = planStage(config).filter((step) => role === undefined || step.role === role).length;
  return perStage * config.schedule.stages.length;
}

/** Where a run is in its schedule. */
export interface SchedulePosition {
  config: ScheduleConfig;
  stage: Stage | 0; // 0: the warm start, and before it
  next: number; // index of the next step in the plan of the stage
  plan?: PlannedStep[] | undefined; // set if a live change made it differ from the plan that the configuration gives
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

/** Policy updates that are left in the whole run. */
export function stepsLeft(position: SchedulePosition): number {
  const later = position.config.schedule.stages.filter((stage) => stage > position.stage).length;
  const current = planOf(position).length - position.next;
  return current + later * planStage(position.config).length;
}
