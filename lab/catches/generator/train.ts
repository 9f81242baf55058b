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
const PROBLEMS = 16; // the number of problems in an update
const LONGEST = 128; // the length limit of a program in tokens
const PRACTICE = { name: 'keyhole-generator', rate: 2e-3, longest: LONGEST };

/** Reads the program of an answer. Undefined if the program does not belong to the family. */
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

/** `trained` counts the answers with an advantage. A group has none if its suite gives all its programs the same reward. */
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

/** The product's rule `all-tests`: 0.5 for a program that passes every test, −0.5 for any other program. */
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

const SAMPLES = 4; // the number of programs per problem
const HIDDEN = 20; // the number of inputs that meet a special case, and also of inputs that meet none

/** Measures programs sampled at temperature 1. A stratum counts the programs that are right where its special case applies. */
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

/** Also runs inputs for the program's own special cases, because the reference may not have them. */
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
