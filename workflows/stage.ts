// One stage of the curriculum: its planned steps in order, and after every epoch an evaluation and a checkpoint. Between
// two steps it does what a person asked for. Pure orchestration: the Temporal workflow and the in-process driver both
// run this.
import { add, exceeded, isAskedAt, isPaused, NOTHING_SPENT, type Request, type Spending } from '../core/control.js';
import { learningRateFactor } from '../core/rl/schedules.js';
import { countSteps, endsEpoch, type PlannedStep, replan } from '../core/schedule.js';
import type { RunConfig } from '../core/schema/config.js';
import type { ControlMetrics } from '../core/schema/metrics.js';
import type { Acts } from './acts.js';
import { closeEpoch } from './epoch.js';
import { planOf, type StageHooks, type StageInput, StepLeftOut } from './stageInput.js';
import { completed, type StepOutcome, type WrittenEvaluation } from './state.js';
import { discriminatorStep } from './steps/discriminatorStep.js';
import { generatorStep } from './steps/generatorStep.js';
import { metered } from './steps/metered.js';

const STEPS = { generator: generatorStep, discriminator: discriminatorStep };
const WALL_CLOCK = (): string => new Date().toISOString();

/** @returns the input of the next call; `next` is the length of the plan when the stage is done, or `stopped` is set. */
export async function runStage(acts: Acts, input: StageInput, hooks: StageHooks = {}): Promise<StageInput> {
  return new StageRun(acts, input, hooks).run();
}

class StageRun {
  private at: StageInput;
  private readonly first: number;
  private verdict: Promise<void> = Promise.resolve(); // of the latest evaluation, with its checkpoint
  private failed = false; // that evaluation

  constructor(
    private readonly acts: Acts,
    input: StageInput,
    private readonly hooks: StageHooks,
  ) {
    this.at = { ...input, config: completed(input.config) };
    this.first = input.next;
  }

  async run(): Promise<StageInput> {
    await this.steps();
    await this.verdict;
    return this.at;
  }

  private async steps(): Promise<void> {
    while (!this.failed) {
      const left = await this.askedBefore();
      if (!(await this.answerRequests()) || this.at.stopped !== undefined) return;
      const planned = planOf(this.at)[this.at.next];
      if (planned === undefined) return;
      if (left) {
        this.spend(this.at.controls?.[0]?.spent ?? NOTHING_SPENT);
        this.at = { ...this.at, controls: this.at.controls?.slice(1) };
        await this.advance(planned);
        continue;
      }
      const over = exceeded(
        this.at.config.budget,
        this.at.state.spent,
        this.at.state.costs[planned.role] ?? NOTHING_SPENT,
      );
      if (over !== undefined) await this.stop('budget', over);
      if (this.at.stopped !== undefined) return;
      await this.step(planned);
      if (this.at.next < planOf(this.at).length && this.endsHere()) return;
    }
  }

  private endsHere(): boolean {
    return this.hooks.endsAfter?.(this.at.next - this.first) ?? false;
  }

  private async step(planned: PlannedStep): Promise<void> {
    const { run, config, stage } = this.at;
    const { step } = this.at.state;
    const learningRate = config.ppo.learningRate * learningRateFactor(step + 1, countSteps(config), config.ppo);
    const position = { stage, ...planned };
    const { joined = true, shortEpochs = true } = this.hooks;
    const closes = endsEpoch(planOf(this.at), this.at.next);
    const meter = { spent: NOTHING_SPENT };
    const acts = metered(this.acts, meter);
    const context = { acts, run, config, position, learningRate, closes, joined, shortEpochs };
    let outcome: StepOutcome | undefined;
    try {
      outcome = await STEPS[planned.role](context, this.at.state);
    } catch (error) {
      if (!(error instanceof StepLeftOut)) throw error;
      const { spent } = meter;
      const counts = this.hooks.countsLeftOut?.() ?? true;
      await this.record({ action: 'skip', reason: error.reason, ...(counts && { spent }), at: this.now() });
      if (counts) this.spend(spent);
    }
    if (outcome !== undefined) this.keep(outcome, planned);
    await this.advance(planned, outcome?.written);
    if (outcome !== undefined) await this.report(planned, outcome);
  }

  private async advance({ epoch }: PlannedStep, written?: WrittenEvaluation): Promise<void> {
    const ends = endsEpoch(planOf(this.at), this.at.next);
    this.at = { ...this.at, next: this.at.next + 1 };
    if (ends) await this.closeEpoch(epoch, written);
  }

  /** What was asked here before the run was started again holds, and is on record. True: the next step was left out. */
  private async askedBefore(): Promise<boolean> {
    for (;;) {
      const { controls = [], stage, next, state } = this.at;
      const [control, ...rest] = controls;
      if (control === undefined || !isAskedAt(control, { stage, next, step: state.step })) return false;
      if (control.action === 'skip') return true;
      this.at = { ...this.at, controls: rest };
      if (control.action === 'change') await this.change(control.fields ?? {});
      if (control.action === 'stop' || control.action === 'budget') {
        await this.end(control.reason ?? control.action);
        return false;
      }
    }
  }

  private spend(spent: Spending): void {
    const { state } = this.at;
    this.at = { ...this.at, state: { ...state, spent: add(state.spent, spent) } };
  }

  private keep({ policy, replayBuffer, metrics, cost }: StepOutcome, { role }: PlannedStep): void {
    const { state } = this.at;
    this.at = {
      ...this.at,
      state: {
        ...state,
        policy,
        replayBuffer,
        step: state.step + 1,
        seconds: state.seconds + metrics.seconds,
        spent: add(state.spent, cost),
        costs: { ...state.costs, [role]: cost },
      },
    };
  }

  private async report({ phase, epoch, role }: PlannedStep, { metrics }: StepOutcome): Promise<void> {
    const { stage, state } = this.at;
    await this.hooks.onProgress?.({
      stage,
      phase,
      epoch,
      step: state.step,
      reward: metrics.reward,
      ...(role === 'generator' ? { passRate: metrics.passRate } : {}),
      ...(metrics.validity === undefined ? {} : { validity: metrics.validity }),
      tokensPerSecond: metrics.tokensPerSecond,
      best: { name: state.best.name, score: state.best.score },
      validation: state.validation,
    });
  }

  /**
   * Does, in order, what was asked since the last step; while the last word is to pause, waits for the next one. False
   * where the call ends before that is done.
   */
  private async answerRequests(): Promise<boolean> {
    const { requests = () => [], moreRequests, onProgress } = this.hooks;
    let waited = false;
    for (;;) {
      const all = requests();
      while (this.at.asked < all.length && this.isDue(all[this.at.asked]!)) {
        await this.answer(all[this.at.asked]!);
        if (this.at.stopped === undefined && this.endsHere()) return false;
      }
      if (this.at.stopped !== undefined || !isPaused(all.slice(0, this.at.asked)) || moreRequests === undefined) break;
      if (!waited) {
        await this.verdict; // a run that rests has all its checkpoints
        await onProgress?.({ state: 'paused' });
      }
      waited = true;
      await moreRequests(all.length);
      if (this.endsHere()) return false;
    }
    if (waited) await onProgress?.({ state: 'training' });
    return true;
  }

  private isDue({ after = 0 }: Request): boolean {
    return after <= this.at.state.step;
  }

  private async answer(request: Request): Promise<void> {
    const { kind, at } = request;
    this.at = { ...this.at, asked: this.at.asked + 1 };
    if (kind === 'stop') return this.stop('stop', 'asked to stop', at);
    if (kind === 'change') {
      await this.change(request.fields);
      return this.record({ action: 'change', fields: request.fields, at });
    }
    return this.record({ action: kind, at });
  }

  /** What was done stays as it was planned; an epoch that has now had its steps ends. */
  private async change(fields: Record<string, unknown>): Promise<void> {
    const before = planOf(this.at);
    const { next } = this.at;
    const { run, config } = await this.acts.reviseRun({ run: this.at.run, config: this.at.config, fields });
    const plan = fields.schedule === undefined ? this.at.plan : this.replanned(before, config);
    this.at = { ...this.at, run, config: completed(config), ...(plan && { plan }) };
    this.hooks.onConfig?.(this.at.config);
    const ended = next > 0 && !endsEpoch(before, next - 1) && endsEpoch(planOf(this.at), next - 1);
    if (ended) await this.closeEpoch(before[next - 1]!.epoch);
  }

  private replanned(before: PlannedStep[], config: RunConfig): PlannedStep[] {
    const { next } = this.at;
    const done = before.slice(0, next);
    const plan = replan(done, config);
    const reopens = endsEpoch(before, next - 1) && plan[next]?.epoch === before[next - 1]!.epoch;
    return reopens && (this.hooks.letsClosedEpochsBe?.() ?? true) ? replan(done, config, true) : plan;
  }

  /** Ends the run here: the epoch is closed, so that nothing of it is lost. */
  private async stop(action: 'stop' | 'budget', reason: string, at = this.now()): Promise<void> {
    await this.record({ action, reason, at });
    await this.end(reason);
  }

  private async end(reason: string): Promise<void> {
    const plan = planOf(this.at);
    const { next } = this.at;
    if (next > 0 && !endsEpoch(plan, next - 1)) await this.closeEpoch(plan[next - 1]!.epoch);
    this.at = { ...this.at, stopped: this.at.stopped ?? reason };
  }

  private async closeEpoch(epoch: number, written?: WrittenEvaluation): Promise<void> {
    const { run, config, state, stage, next, plan } = this.at;
    if (state.closedAt === state.step) return; // every step since was left out
    await this.verdict; // one evaluation at a time
    const { shortEpochs = true } = this.hooks;
    const context = { acts: this.acts, run, config, shortEpochs };
    const closed = await closeEpoch(context, this.at.state, { stage, epoch, next, plan, written });
    this.at = { ...this.at, state: closed.state };
    this.verdict = closed.verdict.then(async (known) => {
      this.at = { ...this.at, state: known(this.at.state) };
      const { best, validation } = this.at.state;
      if (shortEpochs) await this.hooks.onProgress?.({ best: { name: best.name, score: best.score }, validation });
    });
    if (!shortEpochs) return this.verdict;
    this.verdict.catch(() => {
      this.failed = true; // told at the end of the step at hand
    });
  }

  private async record(what: Omit<ControlMetrics, 'kind' | 'step' | 'index' | 'stage' | 'next'>): Promise<void> {
    const { run, state, stage, next } = this.at;
    const index = state.records ?? 0;
    this.at = { ...this.at, state: { ...state, records: index + 1 } };
    await this.acts.recordMetrics({ run, metrics: { kind: 'control', step: state.step, index, stage, next, ...what } });
  }

  private now(): string {
    return (this.hooks.now ?? WALL_CLOCK)();
  }
}
