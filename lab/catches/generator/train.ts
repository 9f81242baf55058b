// Reinforces the generator with the tests of one arm, and measures its programs on problems that it has never seen.
import { deriveKey, RandomStream } from '../../../core/base/random.js';
import { REWARD_RULES } from '../../../core/rewards/rewards.js';
import { rewardOf as sumOfTerms } from '../../../core/rewards/rule.js';
import type { Split } from '../../../core/schema/problem.js';
import type { Value } from '../../../core/schema/value.js';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';
import { type KeyholeArgs, type KeyholeSpec, type Rule, STRATA, type Stratum } from '../../families/keyhole/family.js';
import { drawArgs, solveRule } from '../../families/keyhole/inputs.js';
import { interpretKeyhole } from '../../families/keyhole/interpret.js';
import { parseCode } from '../../families/keyhole/parse.js';
import { freshKeyholeProblems, type KeyholeProblem, keyholeProblems } from '../../families/keyhole/problems.js';
import { renderDescription } from '../../families/keyhole/render.js';
import type { Shares } from '../records.js';
import { programPrompt } from './lesson.js';
import { practise } from './ppo.js';
import { type SuiteArm, suiteOf } from './suites.js';

export const UPDATES = 40;
const PROBLEMS = 16; // of an update
const LONGEST = 128; // tokens of a program
const PRACTICE = { name: 'keyhole-generator', rate: 2e-3, longest: LONGEST };

/** The program of an answer; undefined if it is none of the family. */
export function programOf(engine: Pick<Engine, 'decode' | 'info'>, tokens: readonly number[]): KeyholeSpec | undefined {
  const ended = engine.info.eosTokens.includes(tokens.at(-1)!);
  return parseCode(engine.decode(tokens.slice(0, ended ? -1 : undefined)));
}

export interface Training {
  arm: SuiteArm;
  seed: number;
  updates: number;
  written: Record<string, Value[][]>; // problem → inputs of the blind writer; empty if the arm needs none
}

/** `trained`: answers with an advantage. Where the suite cannot tell programs apart, there is none. */
export function trainGenerator(
  engine: Engine,
  { arm, seed, updates, written }: Training,
  say: (line: string) => void,
): Promise<{ adapter: Adapter; trained: number }> {
  const problems = keyholeProblems('train');
  return practise(
    engine,
    { ...PRACTICE, seed, updates },
    (random) =>
      random.sample(problems, PROBLEMS).map((problem) => {
        const suite = suiteOf(arm, seed, problem, written[problem.id]);
        return {
          prompt: programPrompt(renderDescription(problem.spec)),
          rewards: (answers) => answers.map((tokens) => rewardOf(programOf(engine, tokens), problem, suite)),
        };
      }),
    say,
  );
}

/** The product's rule `all-tests`: a half for a program that passes every test, minus a half for the others. */
export function rewardOf(
  program: KeyholeSpec | undefined,
  { spec }: KeyholeProblem,
  suite: readonly KeyholeArgs[],
): number {
  const passes = (args: KeyholeArgs): boolean =>
    program !== undefined && interpretKeyhole(program, args) === interpretKeyhole(spec, args);
  const verdicts = suite.map((args) => (passes(args) ? 'pass' : 'fail'));
  return sumOfTerms(REWARD_RULES['all-tests'].generatorTerms(verdicts));
}

const SAMPLES = 4; // programs for each problem
const HIDDEN = 20; // inputs that meet a special case, and inputs that meet none

/** Shares of programs sampled at temperature 1. A stratum counts those that are right where its special case applies. */
export async function measurePrograms(
  engine: Engine,
  { split, seed, problems = Infinity }: { split: Split; seed: number; problems?: number },
  adapter?: Adapter,
): Promise<Shares> {
  const own = freshKeyholeProblems(split).slice(0, problems);
  const jobs = own.flatMap((problem) => {
    const prompt = engine.encode(programPrompt(renderDescription(problem.spec)));
    return Array.from({ length: SAMPLES }, (_, sample) => ({
      problem,
      prompt,
      key: deriveKey('keyhole-programs', seed, problem.id, sample),
    }));
  });
  const answers = await engine.generate(
    jobs.map(({ prompt, key }) => ({ prompt, key })),
    { maxNewTokens: LONGEST, temperature: 1, stopTokens: engine.info.eosTokens, ...(adapter && { adapter }) },
  );
  const found = answers.map(({ tokens }, i) => judge(programOf(engine, tokens), jobs[i]!.problem));
  const share = (name: keyof Shares): number => found.filter((one) => one[name]).length / found.length;
  const names = ['right', 'readable', ...STRATA] as const;
  return Object.fromEntries(names.map((name) => [name, share(name)])) as Shares;
}

/** Also runs inputs of the program's own special cases, so that one which the description does not know is found. */
export function judge(program: KeyholeSpec | undefined, { id, spec }: KeyholeProblem): Record<keyof Shares, boolean> {
  const random = new RandomStream('keyhole-hidden', id);
  const agrees = (draw: () => KeyholeArgs): boolean =>
    program !== undefined &&
    Array.from({ length: HIDDEN }, draw).every(
      (args) => interpretKeyhole(program, args) === interpretKeyhole(spec, args),
    );
  const meets = (rule: Rule): boolean => agrees(() => solveRule(rule, random));
  const strata = Object.fromEntries(spec.rules.map((rule) => [rule.stratum, meets(rule)])) as Record<Stratum, boolean>;
  const right = Object.values(strata).every(Boolean) && agrees(() => drawArgs(random)) && program!.rules.every(meets);
  return { right, readable: program !== undefined, ...strata };
}
