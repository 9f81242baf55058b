// Makes a chart over policy updates from every recorded number of a run, with one line per role or split.
import { type Interval, meanShareInterval } from '../../core/evaluation/intervals.js';
import { OUTCOME_NAMES, type Outcome } from '../../core/rewards/outcomes.js';
import type { Role } from '../../core/schema/chain.js';
import type { RunMetrics } from '../../core/schema/metrics.js';
import type { Chart, Point } from '../api.js';

const capitalised = (word: string): string => `${word[0]!.toUpperCase()}${word.slice(1)}`;

const TITLES: Readonly<Record<string, string>> = {
  'evaluation.passRate': 'Solved, sampled',
  'evaluation.greedyPassRate': 'Solved, greedy',
  'evaluation.testValidity': 'Valid tests',
  'evaluation.bugCatchRate': 'Bugs caught',
  'evaluation.score': 'Checkpoint score',
  'step.reward': 'Reward',
  'step.rewardStd': 'Spread of rewards',
  'step.passRate': 'Tests that programs pass',
  'step.baselinePassRate': 'Given tests passed',
  'step.generatedPassRate': 'Generated tests passed',
  'step.validity': 'Valid tests',
  'step.bugCatchRate': 'Bugs caught',
  'step.uniqueInputs': 'Distinct inputs',
  'step.suiteSize': 'Tests in a suite',
  'step.groups': 'Groups',
  'step.allRightGroups': 'Groups that are all right',
  'step.allWrongGroups': 'Groups that are all wrong',
  'step.allEqualGroups': 'Groups with equal results',
  'step.programTokens': 'Length of a program (tokens)',
  'step.literalRate': 'Programs with a value of their tests',
  'step.voteAgreement': 'Agreement of programs',
  'step.voteDropped': 'Tests dropped by the vote',
  'step.voteErrors': 'Wrong votes on given tests',
  'step.sandboxFaultRate': 'Failed attempts of the sandbox',
  'answers.answers': 'Answers',
  'answers.cutRate': 'Cut answers',
  'answers.emptyRate': 'Answers without text',
  'answers.unfitRate': 'Prompts that do not fit',
  ...Object.fromEntries(OUTCOME_NAMES.map((name) => [`outcome.${name}`, capitalised(name)])),
  'update.loss': 'Loss',
  'update.ratio': 'Ratio of probabilities',
  'update.approxKl': 'KL divergence to the old policy (nats)',
  'update.clipFraction': 'Clipped tokens',
  'update.entropy': 'Entropy of sampled tokens (nats)',
  'update.gradNorm': 'Gradient norm',
  'update.tokens': 'Trained tokens',
  'update.rows': 'Sequences in the update',
  'update.learningRate': 'Learning rate',
  'update.policyLoss': 'Policy loss',
  'update.exactEntropy': 'Exact entropy (nats)',
  'update.kl': 'KL divergence to the base (nats)',
  'update.rolloutKl': 'KL divergence of the rollout server (nats)',
  'update.rolloutDifference': 'Difference to the rollout server',
  'update.truncatedFraction': 'Truncated importance weights',
  'warmStart.loss': 'Loss, warm start (nats)',
  'warmStart.validationLoss': 'Validation loss, warm start (nats)',
  'cost.sampledTokens': 'Sampled tokens',
  'cost.tokensPerSecond': 'Sampled tokens per second',
  'cost.seconds': 'Time of an update (s)',
};

/** The title of a chart or a rate, such as `evaluation.passRate`. */
export const titleOf = (id: string): string | undefined => TITLES[id];

const GROUPS: Readonly<Record<string, string>> = {
  evaluation: 'Evaluation',
  step: 'Rollouts',
  answers: 'Answers',
  outcome: 'Samples by outcome',
  term: 'Terms of the reward',
  update: 'Updates',
  warmStart: 'Warm start',
  cost: 'Cost',
};

const PERCENT = /(?<!learning)Rate$|validity$|Validity$|uniqueInputs$|[cC]lipFraction$|truncatedFraction$/;
const WITHOUT_CURVE = ['step', 'stage', 'epoch', 'problems'];
const COST = ['sampledTokens', 'tokensPerSecond', 'seconds'];
const UPDATE = ['rows', 'learningRate'];

export function charts(metrics: readonly RunMetrics[]): Chart[] {
  const found = new Map<string, Chart>();
  const add = (group: string, name: string, line: string, point: Point): void => {
    const id = `${group}.${name}`;
    const percent = group === 'term' || PERCENT.test(name);
    const chart = found.get(id) ?? {
      id,
      group: GROUPS[group]!,
      title: TITLES[id] ?? (group === 'term' ? capitalised(name) : name),
      percent,
      lines: [],
    };
    found.set(id, chart);
    const points = chart.lines.find((each) => each.name === line)?.points;
    if (points) points.push(point);
    else chart.lines.push({ name: line, points: [point] });
  };
  const outcomesOf = {
    generator: outcomeNames(metrics, 'generator'),
    discriminator: outcomeNames(metrics, 'discriminator'),
  };
  // the test split is evaluated at the end of a run, with a checkpoint of an earlier step
  const stepOf = new Map(
    metrics.flatMap((record) =>
      record.kind === 'evaluation' && record.split === 'validation' ? [[record.checkpoint, record.step]] : [],
    ),
  );
  for (const record of [...metrics].sort((a, b) => a.step - b.step)) {
    const { step } = record;
    if (record.kind === 'evaluation') {
      const { rates, score, split, checkpoint, problems, standardErrors } = record;
      for (const [name, value] of numbersOf({ ...rates, score })) {
        const judged = name === 'bugCatchRate' ? undefined : problems; // only faulty programs can be caught
        const interval = intervalOf(name, value, standardErrors?.[name], judged);
        add('evaluation', name, split, { step: stepOf.get(checkpoint) ?? step, value, problems, ...interval });
      }
    } else if (record.kind === 'supervised') {
      const { role, loss, validationLoss } = record;
      for (const [name, value] of numbersOf({ loss, validationLoss })) add('warmStart', name, role, { step, value });
    } else if (record.kind === 'step') {
      const { update, role, standardErrors, outcomes } = record;
      for (const [name, value] of numbersOf(record.termShares ?? {})) add('term', name, role, { step, value });
      for (const name of outcomesOf[role]) add('outcome', name, role, { step, value: outcomes[name] ?? 0 });
      for (const [writer, shares] of Object.entries(record.answers ?? {}))
        for (const [name, value] of numbersOf(shares)) add('answers', name, writer, { step, value });
      for (const [name, value] of numbersOf(update)) add('update', name, role, { step, value });
      for (const [name, value] of numbersOf(record)) {
        if (WITHOUT_CURVE.includes(name)) continue;
        const group = COST.includes(name) ? 'cost' : UPDATE.includes(name) ? 'update' : 'step';
        add(group, name, role, { step, value, ...intervalOf(name, value, standardErrors?.[name], record.groups) });
      }
    }
  }
  const order = Object.keys(TITLES);
  const place = ({ id }: Chart): number => (order.includes(id) ? order.indexOf(id) : order.length);
  return [...found.values()].sort((a, b) => place(a) - place(b));
}

/** Only figures with a standard error, or of a single problem, are means over problems. */
function intervalOf(name: string, value: number, error: number | undefined, problems?: number): Partial<Interval> {
  if (error === undefined && problems !== 1) return {};
  if (PERCENT.test(name)) return meanShareInterval(value, error, problems) ?? {};
  return error ? { low: value - 1.96 * error, high: value + 1.96 * error } : {};
}

/** The outcomes that a role has in at least one step; a step records only those that it has. */
function outcomeNames(metrics: readonly RunMetrics[], role: Role): Outcome[] {
  const own = metrics.filter((record) => record.kind === 'step').filter((record) => record.role === role);
  return OUTCOME_NAMES.filter((name) => own.some(({ outcomes }) => outcomes[name] !== undefined));
}

/** The fields of an object that are finite numbers. */
const numbersOf = (fields: object): [name: string, value: number][] =>
  Object.entries(fields).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
