// The progress of a run as one line, and an estimate of the time left.
import { topicOf } from '../../core/run/answerShares.js';
import { isFinal, type RunFailure, type RunProgress } from '../../core/schema/run.js';
import type { Need } from '../../workers/attention.js';
import { commandLine } from './commandLine.js';
import { duration, percent } from './output.js';

const WINDOW = 12; // the number of recent steps that the estimate uses: later stages are slower, and replayed steps take no time

export const reasonText = ({ activity, code, message }: RunFailure): string =>
  `${activity} failed: ${code}: ${message}`;

/** The command that goes on after a failure. */
export const commandAfter = (id: string, code?: string, flags = ''): string =>
  commandLine(isFinal(code) ? 'train NEW-RUN …' : `resume ${id}${flags}`);

/** Names the command that goes on after a failure. @param words what it does, if it resumes the run */
export const wayAfter = (words: string, ...failed: Parameters<typeof commandAfter>): string =>
  `${isFinal(failed[1]) ? 'start another run with a corrected configuration' : words}: ${commandAfter(...failed)}`;

/** Says what a run waits for and how to continue it; undefined if it waits for nobody. */
export function attentionOf({ runId, state, failure, requested }: Need): string | undefined {
  if (failure !== undefined && state === 'retrying') return `${reasonText(failure)}; it goes on when the fault is gone`;
  if (failure !== undefined && state === 'failed')
    return `${reasonText(failure)}; ${wayAfter('try again with', runId, failure.code)}`;
  if (failure !== undefined) {
    const others = failure.inStep ? '--skip skips the step, --abort ends the run' : '--abort ends the run';
    return `${reasonText(failure)}; try again with: ${commandLine(`resume ${runId}`)} (${others})`;
  }
  if (requested !== undefined) return `requested: ${requested.join(', ')} (after the current step)`;
  return state === 'paused' ? `paused; continue with: ${commandLine(`resume ${runId}`)}` : undefined;
}

export const warningLine = (message: string): string => `warning: ${message}`;

/** Warnings about problems that are left out, and about answers that say little. */
export function warningsIn({ runId, quarantined, warnings = [] }: RunProgress): { topic: string; line: string }[] {
  const { problems, of } = quarantined ?? { problems: 0, of: 0 };
  const leftOut = `${problems} of ${of} problems are left out: runs/${runId}/quarantine.json in the store gives the reasons`;
  return [
    ...(problems > 0 ? [{ topic: 'quarantine', line: warningLine(leftOut) }] : []),
    ...warnings.map((warning) => ({ topic: topicOf(warning), line: warningLine(warning.message) })),
  ];
}

/** @param left seconds */
export function progressLine(progress: RunProgress, left?: number): string {
  const { stage, phase, state, step, totalSteps, reward, passRate, validity, tokensPerSecond, validation } = progress;
  return [
    `step ${step}/${totalSteps}`,
    state === 'training' && stage !== undefined
      ? [stage > 0 && `stage ${stage}`, phase].filter(Boolean).join(' ')
      : state,
    ...(reward === undefined ? [] : [`reward ${reward.toFixed(3)}`]),
    ...(passRate === undefined ? [] : [`pass ${percent(passRate)}`]),
    ...(validity === undefined ? [] : [`valid ${percent(validity)}`]),
    ...(tokensPerSecond === undefined ? [] : [`${Math.round(tokensPerSecond)} tokens/s`]),
    ...(validation?.passRate === undefined ? [] : [`validation ${percent(validation.passRate)}`]),
    ...(left === undefined ? [] : [`${duration(left)} left`]),
  ].join(' · ');
}

/** Estimates the time left from the pace of recent steps. The final evaluation is expected to take as long as the first. */
export class Pace {
  private readonly marks: { step: number; at: number }[] = []; // when each recent step ended, in ms
  private seen: number | undefined;
  private evaluatingSince: number | undefined;
  private evaluation = 0; // ms
  private stops = false;

  /** @param now in ms */
  update({ step, state, requested }: RunProgress, now: number): void {
    this.stops ||= requested?.includes('stop') ?? false;
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

  /** The seconds left; undefined until two steps have ended, and once a stop was requested. */
  left({ totalSteps, state }: RunProgress, now: number): number | undefined {
    const [first, last] = [this.marks[0], this.marks.at(-1)];
    if (first === undefined || last === undefined || last.step === first.step) return undefined;
    if (this.stops || state === 'completed' || state === 'failed') return undefined;
    const pace = (last.at - first.at) / (last.step - first.step);
    const steps = Math.max(0, totalSteps - last.step);
    // a slow step stops the countdown instead of shortening the time of later steps
    const spent = Math.min(now - last.at, steps > 0 ? pace : this.evaluation);
    const left = pace * steps + this.evaluation - spent;
    return left > 0 ? left / 1000 : undefined; // unknown if the final evaluation takes longer than the first one
  }
}
