// `npm run experiments -- catches --reinforced`: does reinforcement teach the discriminator of `nested` which bugs others miss? It
// sees one wrong program, and writes one test a turn. docs/evidence.md states the rule, which was committed before the runs.

import { parseTests } from '../../chains/judge/judging.js';
import { deriveKey, RandomStream } from '../../core/base/random.js';
import { resolveConfig } from '../../core/config/presets.js';
import { PROMPTS, testRequest, textOf } from '../../core/prompts/prompts.js';
import { REWARD_RULES } from '../../core/rewards/rewards.js';
import { type JudgedTurn, rewardOf } from '../../core/rewards/rule.js';
import type { Split } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import { shippedModelPath } from '../../data/paths.js';
import type { Adapter, Engine } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { allNestedProblems } from '../families/nested/problems.js';
import { CONTROLS } from './controls.js';
import { FROZEN, nestedProblem } from './frozen.js';
import type { ProgramsOptions } from './generator/main.js';
import { practise, type Task } from './generator/ppo.js';
import { catchesOf } from './measure.js';
import type { FrozenProblem } from './programs.js';
import { type CatchRecord, keyOf, type Records, type ReinforcedRecord } from './records.js';

/** What a group of turns earns. `placebo` permutes the rewards of a group, so that they say nothing about its turns. */
export const REWARDS = ['discrimination', 'shifted', 'placebo'] as const;
export type RewardArm = (typeof REWARDS)[number];

const UPDATES = 20; // on the validation split, fewer programs were caught after 40
const PROBLEMS = 16; // the number of problems in an update; each has eight turns
const PROGRAMS = 8; // the most wrong programs of a problem
const TESTS = 4; // the number of tests for each program of a measurement
const EASY = 8; // a program is hard if this many mutated inputs miss it
const STOP = ')\n'; // the end of the first test; the shipped model would write more
const PRACTICE = { name: 'nested-reinforced', rate: 2e-3, longest: 96, stop: STOP };
const CONFIG = resolveConfig({ preset: 'nested', testsPerTurn: 1, discriminator: { expected: 'reference' } });

type Shares = ReinforcedRecord['after'];

type Options = Omit<ProgramsOptions, 'arms' | 'store'> & { arms: readonly RewardArm[] };

/** Keeps records that exist. */
export async function measureReinforced(records: Records, options: Options, say: (line: string) => void) {
  const { arms, seeds, split, commit, quick } = options;
  const engine = await openEngine(shippedModelPath('nested'));
  const updates = quick ? 3 : UPDATES;
  try {
    for (const seed of seeds) {
      for (const arm of arms) {
        const key = { kind: 'reinforced', split, arm, seed } as const;
        if (records.all().some((record) => keyOf(record) === keyOf(key))) continue;
        const other = reinforcedIn(records.all(), split).find((one) => one.seed === seed);
        const before = other?.before ?? (await measure(engine, split, seed)); // all arms share it
        const { adapter, trained } = await train(engine, arm, seed, updates, say);
        const after = await measure(engine, split, seed, adapter);
        records.save({ ...key, commit, updates, trained, before, after });
        const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
        say(`${arm}, seed ${seed}: ${percent(before.hard)} of the hard programs caught, then ${percent(after.hard)}`);
      }
    }
  } finally {
    await engine.close();
  }
}

export const reinforcedIn = (records: readonly CatchRecord[], split: Split): ReinforcedRecord[] =>
  records.filter((one): one is ReinforcedRecord => one.kind === 'reinforced' && one.split === split);

function train(engine: Engine, arm: RewardArm, seed: number, updates: number, say: (line: string) => void) {
  const problems = allNestedProblems().filter(({ split }) => split === 'train');
  const drawTask = (random: RandomStream): Task => {
    for (;;) {
      const [problem, key] = [random.choice(problems), random.int(0, 2 ** 31)];
      const drawn = nestedProblem(problem, PROGRAMS, (i) => new RandomStream('nested-reinforced', key, i));
      if (drawn.wrong.length > 0) return taskOf(engine, arm, drawn, new RandomStream('placebo', key));
    }
  };
  const draw = (random: RandomStream): Task[] => Array.from({ length: PROBLEMS }, () => drawTask(random));
  return practise(engine, { ...PRACTICE, seed, updates }, draw, say);
}

/** The turns see the first wrong program of the problem. */
const taskOf = (engine: Engine, arm: RewardArm, problem: FrozenProblem, random: RandomStream): Task => ({
  prompt: promptOf(problem, 0),
  rewards(answers) {
    const turns = answers.map((tokens) => judge(engine, problem, 0, tokens));
    const rule = REWARD_RULES[arm === 'placebo' ? 'discrimination' : arm];
    const rewards = rule.discriminatorTerms(turns).map(rewardOf);
    return arm === 'placebo' ? random.shuffle(rewards) : rewards;
  },
});

const signatureOf = ({ reference }: FrozenProblem): string => reference.code.split('\n', 1)[0]!;

/** The user turn, as the product writes it for a program. */
function promptOf(problem: FrozenProblem, program: number): string {
  const { description, wrong } = problem;
  const asked = { description, functionSignature: signatureOf(problem), entry: 'solve' };
  const messages = PROMPTS.tiny.discriminator(asked, 5, wrong[program]!.code, testRequest(CONFIG));
  return messages.map(({ content }) => textOf(content)).join('');
}

/** @param target the program that the turn has seen */
function judge(engine: Engine, problem: FrozenProblem, target: number, tokens: readonly number[]): JudgedTurn {
  const { reference, wrong } = problem;
  const ended = engine.info.eosTokens.includes(tokens.at(-1)!);
  const text = engine.decode(tokens.slice(0, ended ? -1 : undefined));
  const { tests, lost } = parseTests(text, { functionSignature: signatureOf(problem), entry: 'solve' }, CONFIG);
  const judged = tests.map(({ args }) => {
    const right = isLegal(args, problem) ? reference.run(args) : '';
    const valid = right.includes('"value"'); // otherwise the reference fails
    const failedBy = valid ? [...wrong.keys()].filter((i) => wrong[i]!.run(args) !== right) : [];
    return { inputs: JSON.stringify(args), valid, caught: failedBy.includes(target), failedBy };
  });
  return { tests: judged, lost };
}

/** Whether an input has the types of the known ones. */
function isLegal(args: readonly Value[], { known }: FrozenProblem): boolean {
  const [rows, k] = args;
  const isWords = (known[0]![0] as Value[]).some((row) => typeof row === 'string');
  const isRow = (row: Value): boolean =>
    isWords ? typeof row === 'string' : Array.isArray(row) && row.every(Number.isSafeInteger);
  return args.length === known[0]!.length && Array.isArray(rows) && rows.every(isRow) && Number.isSafeInteger(k ?? 0);
}

/** The shares of programs that a test catches, of valid tests, and of these that catch a hard program; at temperature 1. */
async function measure(engine: Engine, split: Split, seed: number, adapter?: Adapter): Promise<Shares> {
  const mutation = CONTROLS.find(({ name }) => name === 'mutation')!;
  const programs = FROZEN.nested(split).flatMap((problem) =>
    catchesOf(problem, mutation, 0, EASY).map(({ rank }, p) => ({ problem, p, isHard: rank > EASY })),
  );
  const jobs = programs.flatMap(({ problem, p }) => {
    const prompt = engine.encode(promptOf(problem, p));
    const keyOfTest = (test: number) => deriveKey('nested-reinforced', 'test', seed, problem.wrong[p]!.id, test);
    return Array.from({ length: TESTS }, (_, test) => ({ prompt, key: keyOfTest(test) }));
  });
  const answers = await engine.generate(jobs, {
    maxNewTokens: PRACTICE.longest,
    temperature: 1,
    stopTokens: engine.info.eosTokens,
    stopSequences: [engine.encode(STOP)],
    ...(adapter && { adapter }),
  });
  const judged = programs.map(({ problem, p, isHard }, i) => {
    const own = answers.slice(i * TESTS, (i + 1) * TESTS);
    const tests = own.flatMap(({ tokens }) => judge(engine, problem, p, tokens).tests);
    const count = (is: 'caught' | 'valid'): number => tests.filter((test) => test[is]).length;
    return { isHard, catching: count('caught'), valid: count('valid') };
  });
  const hard = judged.filter(({ isHard }) => isHard);
  const caughtOf = (some: typeof judged): number => some.filter(({ catching }) => catching > 0).length / some.length;
  const sum = (some: typeof judged, of: 'catching' | 'valid'): number =>
    some.reduce((total, one) => total + one[of], 0);
  return {
    hard: caughtOf(hard),
    all: caughtOf(judged),
    valid: sum(judged, 'valid') / jobs.length,
    aim: sum(hard, 'catching') / sum(hard, 'valid'),
  };
}
