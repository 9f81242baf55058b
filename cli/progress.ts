// Where a run stands, as one line of at most so many columns, and how long it will still take.
import type { RunProgress } from '../core/schema/run.js';
import { duration, percent } from './output.js';

const SHORT_PHASE = { discriminator: 'discr', generator: 'gen', alternating: 'alt' } as const;
const BAR = { least: 4, most: 30 };
const WINDOW = 12; // steps whose pace counts: later stages are slower, and what a resumed run has done already is instant

/** What a run waits for, and how to go on; undefined while it needs nobody. */
export function pleaOf({ runId, state, failure }: RunProgress): string | undefined {
  if (failure !== undefined) {
    const skip = failure.inStep ? ' (--skip leaves the step out, --abort ends the run)' : ' (--abort ends the run)';
    return `${failure.activity} failed: ${failure.code}: ${failure.message}; try again with: npx gauntlet resume ${runId}${skip}`;
  }
  return state === 'paused' ? `paused; go on with: npx gauntlet resume ${runId}` : undefined;
}

/** One line in full: where a run stands and how it does. */
export function progressLine(progress: RunProgress): string {
  const { stage, phase, state, reward, passRate, validity, tokensPerSecond, validation } = progress;
  const parts = [
    state === 'training' && stage !== undefined ? `stage ${stage} ${phase ?? ''}`.trim() : state,
    `step ${progress.step}/${progress.totalSteps}`,
    ...(reward === undefined ? [] : [`reward ${reward.toFixed(3)}`]),
    ...(passRate === undefined ? [] : [`pass ${percent(passRate)}`]),
    ...(validity === undefined ? [] : [`valid tests ${percent(validity)}`]),
    ...(tokensPerSecond === undefined ? [] : [`${Math.round(tokensPerSecond)} tokens/s`]),
    ...(validation?.passRate === undefined ? [] : [`validation ${percent(validation.passRate)}`]),
  ];
  return parts.join(' · ');
}

/** A bar and the figures in at most `columns - 1` columns: in full where they fit, else shortened, at last cut. */
export function progressBar(progress: RunProgress, left: number | undefined, columns: number): string {
  const room = columns - 1; // a character in the last column wraps in some terminals
  const text = [wideText(progress, left), narrowText(progress, left)].find((t) => t.length + BAR.least + 1 <= room);
  if (text === undefined) return narrowText(progress, left).slice(0, Math.max(0, room));
  const width = Math.min(BAR.most, room - text.length - 1);
  const share = progress.totalSteps > 0 ? Math.min(1, progress.step / progress.totalSteps) : 0;
  const filled = Math.round(share * width);
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)} ${text}`;
}

function wideText(progress: RunProgress, left: number | undefined): string {
  const { stage, phase, state, step, totalSteps, reward, passRate, validity, tokensPerSecond } = progress;
  return [
    `${step}/${totalSteps}`,
    state === 'training' && stage !== undefined ? `stage ${stage} ${phase ?? ''}`.trim() : state,
    ...(reward === undefined ? [] : [`reward ${reward.toFixed(3)}`]),
    ...(passRate === undefined ? [] : [`pass ${percent(passRate)}`]),
    ...(validity === undefined ? [] : [`valid ${percent(validity)}`]),
    ...(tokensPerSecond === undefined ? [] : [`${Math.round(tokensPerSecond)} tokens/s`]),
    ...(left === undefined ? [] : [`${duration(left)} left`]),
  ].join(' · ');
}

function narrowText(progress: RunProgress, left: number | undefined): string {
  const { stage, phase, state, step, totalSteps, reward, passRate, validity, tokensPerSecond } = progress;
  const whole = (rate: number): string => `${Math.round(100 * rate)}%`;
  return [
    `${step}/${totalSteps}`,
    state === 'training' && stage !== undefined ? `stage ${stage} ${phase ? SHORT_PHASE[phase] : ''}`.trim() : state,
    ...(reward === undefined ? [] : [`reward ${reward.toFixed(2)}`]),
    ...(passRate === undefined ? [] : [`pass ${whole(passRate)}`]),
    ...(validity === undefined ? [] : [`valid ${whole(validity)}`]),
    ...(tokensPerSecond === undefined ? [] : [`${Math.round(tokensPerSecond)} tok/s`]),
    ...(left === undefined ? [] : [`${clock(left)} left`]),
  ].join(' ');
}

/** Seconds as '2:05' or '1:02:05'. */
function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const two = (n: number): string => String(n).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** Time left, from the pace of the last steps that were seen to end; the evaluation at the end counts as that before. */
export class Pace {
  private readonly marks: { step: number; at: number }[] = []; // ms
  private seen: number | undefined;
  private evaluatingSince: number | undefined;
  private evaluation = 0; // ms

  /** @param now in ms */
  update({ step, state }: RunProgress, now: number): void {
    if (step === 0 && state === 'evaluating') this.evaluatingSince ??= now;
    if (this.evaluatingSince !== undefined && this.evaluation === 0 && state === 'training') {
      this.evaluation = now - this.evaluatingSince;
    }
    if (this.seen !== undefined && step > this.seen) {
      this.marks.push({ step, at: now });
      if (this.marks.length > WINDOW + 1) this.marks.shift();
    }
    this.seen = step;
  }

  /** Seconds; undefined until two steps were seen to end. */
  left({ totalSteps, state }: RunProgress, now: number): number | undefined {
    const [first, last] = [this.marks[0], this.marks.at(-1)];
    if (first === undefined || last === undefined || last.step === first.step) return undefined;
    if (state === 'completed' || state === 'failed') return undefined;
    const pace = (last.at - first.at) / (last.step - first.step);
    const steps = Math.max(0, totalSteps - last.step);
    // a step that takes longer than the others holds the estimate, it does not eat the time of those after it
    const spent = Math.min(now - last.at, steps > 0 ? pace : this.evaluation);
    return Math.max(0, pace * steps + this.evaluation - spent) / 1000;
  }
}
