// Alarms watch figures that show a run going wrong while its rewards may still rise. Each rule looks at means over some steps, so
// one odd step raises no alarm. An alarm is a warning of the step (core/run/answerShares.ts has the others).
import { mean } from '../rewards/rates.js';
import type { Warning } from '../schema/answers.js';
import type { Role } from '../schema/chain.js';
import type { StepMetrics } from '../schema/metrics.js';
import { percent } from './answerShares.js';

/** The number of steps in a mean. A rule applies only after this many steps have its figure. */
export const ALARM_STEPS = 5;

const LITERALS = 0.1; // share of programs
const LENGTH = 2; // longer or shorter by this factor
const TERM = 0.8; // share of one term in the reward
const VALIDITY = 0.75; // share of the best mean
const FAULTS = 0.2; // share of attempts

/** By alarm: when it is raised, what to look at, and which role's steps have its figure. docs/how-to/monitor.md shows the table. */
export const ALARMS = {
  literal: {
    rule: `more than ${percent(LITERALS)} of the programs contain a value of their tests that the reference does not contain`,
    field: 'testTurns',
    role: 'generator',
  },
  length: {
    rule: `answers with a program are more than ${LENGTH} times as long as in the first ${ALARM_STEPS} generator steps, or less than 1/${LENGTH}`,
    field: 'ppo.klCoefficient',
    role: 'generator',
  },
  term: {
    rule: `one term makes more than ${percent(TERM)} of the discriminator's rewards, by absolute value`,
    field: 'reward.scheme',
    role: 'discriminator',
  },
  validity: {
    rule: `the share of valid tests is below ${percent(VALIDITY)} of the best mean that the run had`,
    field: 'discriminator.expected',
    role: undefined,
  },
  faults: {
    rule: `more than ${percent(FAULTS)} of the attempts to use the sandbox fail; they are repeated`,
    field: 'sandbox',
    role: undefined,
  },
} as const satisfies Record<string, { rule: string; field: string; role: Role | undefined }>;
export type AlarmKind = keyof typeof ALARMS;
export const ALARM_KINDS = Object.keys(ALARMS) as AlarmKind[];

export const isAlarm = ({ kind }: Pick<Warning, 'kind'>): boolean => kind in ALARMS;

/** The latest values of one figure, and the first and the largest mean of `ALARM_STEPS` of them. */
interface Series {
  latest: number[];
  first?: number;
  best?: number;
}

/** What a run remembers for its alarms: a series for each figure. */
export type AlarmState = Readonly<Record<string, Series>>;

export type WatchedFigures = Pick<
  StepMetrics,
  'role' | 'validity' | 'voteDropped' | 'programTokens' | 'literalRate' | 'termShares' | 'sandboxFaultRate'
>;

/** The alarms of a step, and the new state, which includes the step's figures. */
export function watchStep(state: AlarmState, figures: WatchedFigures): { state: AlarmState; alarms: Warning[] } {
  const { role, validity, voteDropped, programTokens, literalRate, termShares = {}, sandboxFaultRate = 0 } = figures;
  const next: Record<string, Series> = { ...state };
  const alarms: Warning[] = [];
  const watch = (name: string, value: number | undefined, judge: (now: number, series: Series) => void): void => {
    if (value === undefined) return;
    const series = withValue(next[name], value);
    next[name] = series;
    if (series.first !== undefined) judge(mean(series.latest), series);
  };
  const raise = (kind: AlarmKind, of: Role, message: string): void => {
    alarms.push({ role: of, kind, field: ALARMS[kind].field, message });
  };
  const recent = `the last ${ALARM_STEPS}`;
  watch('literal', literalRate, (now) => {
    const text = `${percent(now)} of the programs of ${recent} generator steps contain a value of their tests, which they should compute: read some in the dashboard, and test with other inputs (testTurns)`;
    if (now > LITERALS) raise('literal', 'generator', text);
  });
  watch('length', programTokens, (now, { first = now }) => {
    const text = `answers with a program have ${Math.round(now)} tokens in ${recent} generator steps, and had ${Math.round(first)} in the first ${ALARM_STEPS}: read some in the dashboard; ppo.klCoefficient keeps the policy near its base`;
    if (now > LENGTH * first || now < first / LENGTH) raise('length', 'generator', text);
  });
  for (const [name, share] of Object.entries(termShares))
    watch(`term ${name}`, share, (now) => {
      const text = `the term '${name}' makes ${percent(now)} of the discriminator's rewards in its last ${ALARM_STEPS} steps, so the others hardly count: see reward.scheme`;
      if (now > TERM) raise('term', 'discriminator', text);
    });
  watch('validity', validity, (now, { best = now }) => {
    const remedy =
      voteDropped === undefined
        ? 'lower ppo.learningRate, or let the reference say what is expected (discriminator.expected)'
        : 'without a reference, a test needs programs that agree: give the problems more tests, or sample more programs of each (batch.generator.samples)';
    const text = `${percent(now)} of the tests of ${recent} steps are valid, and ${percent(best)} were at best: ${remedy}`;
    if (now < VALIDITY * best) raise('validity', 'discriminator', text);
  });
  watch('faults', sandboxFaultRate, (now) => {
    const text = `${percent(now)} of the attempts to use the sandbox failed in ${recent} steps and were repeated: check it with gauntlet doctor`;
    if (now > FAULTS) raise('faults', role, text);
  });
  return { state: next, alarms };
}

function withValue(series: Series = { latest: [] }, value: number): Series {
  const latest = [...series.latest, value].slice(-ALARM_STEPS);
  if (latest.length < ALARM_STEPS) return { ...series, latest };
  const now = mean(latest);
  return { latest, first: series.first ?? now, best: Math.max(series.best ?? now, now) };
}

/** The first step of each alarm of a run. */
export function firstAlarms(steps: readonly Pick<StepMetrics, 'step' | 'warnings'>[]): (Warning & { step: number })[] {
  const found = new Map<string, Warning & { step: number }>();
  for (const { step, warnings = [] } of [...steps].sort((a, b) => a.step - b.step))
    for (const warning of warnings.filter(isAlarm))
      if (!found.has(warning.kind)) found.set(warning.kind, { ...warning, step });
  return [...found.values()];
}
