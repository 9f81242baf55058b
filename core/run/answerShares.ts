// Answers that are cut, empty or missing look like a lack of skill. Every step counts them, and a warning names the field of the
// configuration to change.
import type { AnswerShares, Warning } from '../schema/answers.js';
import type { Role, SampledTurn } from '../schema/chain.js';
import type { RunConfig } from '../schema/config.js';
import type { RunMetrics } from '../schema/metrics.js';

const WARN_ABOVE = 0.2; // share of the answers

type Answer = Pick<SampledTurn, 'answerTokens' | 'text' | 'truncated'>;
type Limits = Pick<RunConfig, 'sampling' | 'discriminator'>;

export interface AnswerCounts {
  answers: number; // includes unanswered prompts
  cut: number;
  cutAtLimit: number; // answers cut by the limit of tokens; other cut answers reached the end of the context
  empty: number;
  unfit: number;
}

const limitOf = (role: Role, { sampling }: Limits): number =>
  role === 'generator' ? sampling.maxNewTokens : sampling.maxTestTokens;

export function countAnswersOf(role: Role, answers: readonly Answer[], config: Limits): AnswerCounts {
  const isUnfit = ({ truncated, answerTokens }: Answer): boolean => truncated && answerTokens.length === 0;
  const sampled = answers.filter((answer) => !isUnfit(answer));
  const cut = sampled.filter(({ truncated }) => truncated);
  return {
    answers: answers.length,
    cut: cut.length,
    cutAtLimit: cut.filter(({ answerTokens }) => answerTokens.length >= limitOf(role, config)).length,
    empty: sampled.filter(({ text }) => text.trim() === '').length,
    unfit: answers.length - sampled.length,
  };
}

export const sharesOf = ({ answers, cut, empty, unfit }: AnswerCounts): AnswerShares => ({
  answers,
  cutRate: cut / answers,
  emptyRate: empty / answers,
  unfitRate: unfit / answers,
});

/** Warns of each cause that keeps more than a fifth of the answers from being judged. */
export function warningsOf(role: Role, counts: AnswerCounts, config: Limits): Warning[] {
  if (counts.answers === 0) return [];
  const { cutRate, emptyRate, unfitRate } = sharesOf(counts);
  const limit = limitOf(role, config);
  const limitField = role === 'generator' ? 'sampling.maxNewTokens' : 'sampling.maxTestTokens';
  const model = role === 'discriminator' && config.discriminator.model !== null ? 'discriminator.model' : 'model';
  const warnings: Warning[] = [];
  const warn = (kind: Warning['kind'], field: string, share: number, text: string): void => {
    if (share > WARN_ABOVE) warnings.push({ role, kind, field, message: `${percent(share)} of the ${role}'s ${text}` });
  };
  const room = `shorten the problems, use fewer stages, or name a ${model} with a longer context`;
  if (counts.cutAtLimit >= counts.cut / 2) {
    const never = `if they never end, the end token of ${model} is not that of its chat template`;
    warn('cut', limitField, cutRate, `answers are cut off after ${limit} tokens: raise ${limitField}; ${never}`);
  } else warn('context', model, cutRate, `answers are cut off where the model's context ends: ${room}`);
  warn('unfit', model, unfitRate, `prompts do not fit into the model's context and get no answer: ${room}`);
  if (emptyRate > cutRate)
    warn('empty', model, emptyRate, `answers are empty: check that ${model} and its chat template fit together`);
  return warnings;
}

/** The warning of a step that trains no row. */
export function nothingTrained(role: Role): Warning {
  const field = `batch.${role}.samples`;
  return {
    role,
    kind: 'untrained',
    field,
    message: `the step of the ${role} trains nothing, because all samples of each group have the same reward: raise ${field} or sampling.temperature`,
  };
}

export const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** The topic of a warning, because the text of a repeated warning may have other figures. */
export const topicOf = ({ role, kind }: Warning): string => `${role} ${kind}`;

/** The latest warning of a topic, and how many steps have a warning of this topic. */
export interface RecordedWarning extends Warning {
  steps: number; // how many steps have the warning
  of: number; // how many steps the run has
}

export function recordedWarnings(metrics: readonly RunMetrics[]): RecordedWarning[] {
  const steps = metrics.filter((record) => record.kind === 'step').sort((a, b) => a.step - b.step);
  const found = new Map<string, RecordedWarning>();
  for (const warning of steps.flatMap(({ warnings = [] }) => warnings)) {
    const topic = topicOf(warning);
    found.set(topic, { ...warning, steps: (found.get(topic)?.steps ?? 0) + 1, of: steps.length });
  }
  return [...found.values()];
}

/** The warning as a line for people. */
export const warningText = ({ message, steps, of }: RecordedWarning): string => `${message} (${steps} of ${of} steps)`;
