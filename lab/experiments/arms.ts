// The arms of the experiments, and how each changes the method. All arms update the generator equally often, except
// `untrained` and the arms with a long warm start.
import { deriveKey } from '../../core/base/random.js';
import type { RunConfigInput } from '../../core/schema/config.js';

export interface Arm {
  name: string;
  question: string; // the question that a comparison with the arm `against` answers
  against?: string; // the default is `method`
  config?: RunConfigInput; // absent if what it needs was removed; the page then shows only old records
  atEqualTokens?: true; // the arm also trains longer, until it has sampled as many tokens as the method with the same seed
}

/** The families that are measured. The method is a family's preset in this form, and every arm starts from it. */
export const FAMILIES = ['nested', 'tiny'] as const;
export type Family = (typeof FAMILIES)[number];

/** `tiny` has only the method. `nested` has a schedule that is short enough to train every arm with five seeds. */
export const FORMS: Record<Family, RunConfigInput> = {
  nested: {
    schedule: { stages: [1, 5], discriminatorSteps: 2, generatorSteps: 2, alternatingSteps: 4 },
    testTurns: 2, // most tokens of a generator step are tokens of tests
  },
  tiny: {},
};
const UPDATES = 8; // the number of generator updates in this form of `nested`
const LARGER_GROUPS = { problems: 16, samples: 8 }; // as many programs, for half of the tests

/** The seeds of the results. The rule that names them was written before any of them was run. Earlier presets used 0 to 4. */
export const FRESH_SEEDS = Array.from({ length: 10 }, (_, i) => deriveKey('fresh seeds', 30 + i)[0] % 100_000);

/** A warm start with the learning rate of the method. */
const warmStart = (generatorSteps: number, patience: number): RunConfigInput => ({
  warmStart: { generatorSteps, patience, learningRate: 2e-3 },
});
const LONG_WARM_START = warmStart(200, 10); // long enough that the validation loss stops falling
const NO_TRAINING: RunConfigInput = { schedule: { discriminatorSteps: 0, generatorSteps: 0, alternatingSteps: 0 } };
/** Trains only stage 5, with as many updates of both roles as the method makes in two stages. */
const CODE_ONLY: RunConfigInput = {
  stages: [5],
  schedule: { stages: [5], discriminatorSteps: 4, generatorSteps: 4, alternatingSteps: 8 },
};

export const ARMS: readonly Arm[] = [
  { name: 'method', question: 'five stages, a discriminator that learns and sees the work', config: {} },
  { name: 'untrained', question: 'Where does training start?', config: NO_TRAINING },
  {
    name: 'supervised',
    question: 'Is it better than supervised learning on references and their reasoning?',
    config: { ...warmStart(UPDATES, UPDATES), ...NO_TRAINING },
  },
  {
    name: 'supervised-longer',
    question: 'The same, until the validation loss stops falling',
    config: { ...LONG_WARM_START, ...NO_TRAINING },
  },
  {
    name: 'baseline-tests',
    question: 'Do generated tests help at all?',
    config: { discriminator: { enabled: false } },
    atEqualTokens: true,
  },
  {
    name: 'random-inputs',
    question: 'Is a model better than random valid inputs with the reference as oracle?',
    config: { discriminator: { writer: 'random', expected: 'reference' } },
    atEqualTokens: true,
  },
  {
    name: 'search',
    question: 'Do inputs found by a search in the code help? Both arms sample no tests',
    against: 'baseline-tests',
    config: { discriminator: { writer: 'search', expected: 'reference' } },
  },
  {
    name: 'hybrid',
    question: 'Is it better if programs also meet changes of the written inputs?',
  },
  {
    name: 'frozen',
    question: 'Does training the discriminator help?',
    config: { discriminator: { trained: false } },
    atEqualTokens: true,
  },
  { name: 'blind', question: 'Does seeing the work help the discriminator?' },
  {
    name: 'inputs-only',
    question: 'Is it better if the reference says what a test expects?',
    config: { discriminator: { expected: 'reference' } },
    atEqualTokens: true,
  },
  {
    name: 'larger-groups',
    question: 'Is it better if more programs share the tests of a problem?',
    config: { batch: { generator: LARGER_GROUPS } },
    atEqualTokens: true,
  },
  {
    name: 'inputs-larger-groups',
    question: 'Do both help together?',
    config: { batch: { generator: LARGER_GROUPS }, discriminator: { expected: 'reference' } },
    atEqualTokens: true,
  },
  {
    name: 'no-archive',
    question: 'Do the archive and the preference for faulty chains help?',
    config: { reward: { archive: { enabled: false } } },
  },
  { name: 'no-diversity', question: 'Does the diversity credit help?' },
  ...(['shifted', 'code-a1', 'discrimination'] as const).map(
    (scheme): Arm => ({
      name: `reward-${scheme}`,
      question: `Is the reward \`${scheme}\` better?`,
      config: { reward: { scheme } },
    }),
  ),
  ...['zero-sum', 'composite', 'mutation'].map(
    (scheme): Arm => ({ name: `reward-${scheme}`, question: `Is the reward \`${scheme}\` better?` }),
  ),
  { name: 'code-only', question: 'Do five stages help?', config: CODE_ONLY },
  {
    name: 'warm',
    against: 'supervised-longer',
    question: 'What does the method add after supervised learning?',
    config: LONG_WARM_START,
  },
  {
    name: 'warm-code-only',
    against: 'warm',
    question: 'Do five stages help, if both forms were learned from references?',
    config: { ...LONG_WARM_START, ...CODE_ONLY },
  },
  { name: 'credit-stage', question: 'Is it better to train one stage at a time?', config: { credit: 'stage' } },
  {
    name: 'credit-counterfactual',
    against: 'credit-stage',
    question: 'The same, if the samples of a group share all stages before it?',
  },
  {
    name: 'adapter-per-stage',
    against: 'credit-stage',
    question: 'Is it better if earlier stages keep their adapters?',
    config: { credit: 'stage', adapters: 'per-stage' },
  },
  {
    name: 'alternating',
    question: 'Do the blocks of N steps help?',
    config: { schedule: { discriminatorSteps: 0, generatorSteps: 0, alternatingSteps: 8 } },
  },
  {
    name: 'simultaneous',
    against: 'alternating',
    question: 'Is it better if both roles train against the state of the other before the pair of steps?',
  },
  {
    name: 'self-repair',
    question: 'Does a second program help, after a failed baseline test? (also when measured)',
  },
  { name: 'curriculum', question: 'Does a curriculum help?' },
  { name: 'gate-0', question: 'The control of the next four: a file of the same problems, split anew' },
  ...[5, 20].map(
    (share): Arm => ({
      name: `gate-${share}`,
      against: 'gate-0',
      question: `What if ${share} % of the references are wrong?`,
    }),
  ),
  ...[5, 20].map(
    (share): Arm => ({
      name: `no-gate-${share}`,
      against: `gate-${share}`,
      question: `The same with ${share} %, without the health gate`,
    }),
  ),
  { name: 'unified', question: 'Do two adapters help?', config: { mode: 'unified' } },
  {
    name: 'positive-only',
    question: 'Do negative advantages help?',
    config: { advantage: { negativeWeight: 0 } },
  },
  { name: 'leave-one-out', question: 'Does dividing by the deviation of a group help?' },
];

/** The arms that can be trained. */
export const TRAINABLE = ARMS.filter((arm): arm is Arm & Required<Pick<Arm, 'config'>> => arm.config !== undefined);

/** The schedule of a short trial. It replaces the schedules of the arms. */
export const QUICK: { arms: readonly string[]; over: RunConfigInput; problems: number } = {
  arms: ['method', 'baseline-tests', 'random-inputs', 'frozen'],
  over: {
    schedule: { stages: [5], discriminatorSteps: 1, generatorSteps: 2, alternatingSteps: 0 },
    batch: { generator: { problems: 8, samples: 4 }, discriminator: { problems: 4, samples: 4 } },
    evaluation: { problems: 16, testProblems: 16 },
  },
  problems: 32,
};
