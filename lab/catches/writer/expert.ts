// Expert iteration, one round: a writer of `keyhole` is trained on those of its own inputs that caught a wrong program. Unlike
// for the taught writers, no rule writes inputs for it. It sees one special case of the description at a time, and no wrong program.
import { existsSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { groupBy } from '../../../core/base/groups.js';
import { deriveKey, RandomStream } from '../../../core/base/random.js';
import type { Value } from '../../../core/schema/value.js';
import type { Engine } from '../../../ml/engine/engine.js';
import { writeAtomically } from '../../../ml/hf/files.js';
import { type KeyholeArgs, type KeyholeSpec, STRATA, type Stratum } from '../../families/keyhole/family.js';
import { interpretKeyhole } from '../../families/keyhole/interpret.js';
import { parseCode } from '../../families/keyhole/parse.js';
import { keyholeProblems, variantOf } from '../../families/keyhole/problems.js';
import { renderCode, renderDescription } from '../../families/keyhole/render.js';
import { isLegal } from '../generator/suites.js';
import { cpuSeconds } from '../prices.js';
import type { FrozenProblem } from '../programs.js';
import { answerText, INPUTS, promptOf } from './corpus.js';
import { LONGEST, readInputs, TEMPERATURE, type Written } from './sample.js';
import { encodeExample, type TinyVocabulary, type TrainingRow } from './tokenizer.js';

/** `expert-placebo` is trained on as many of the same inputs, drawn at random. */
export type Expert = 'expert' | 'expert-placebo';
const CATCHING = 3_000; // catching inputs of a stratum
const MOST_TOKENS = 2_500_000; // sampled for a seed, with prompts
const PROBLEMS = 256; // sampled at once
const TURNS = 2; // for a special case
const WRITING_TURNS = 6; // for a special case of a measured problem

/** What a writer wrote for one special case: inputs that catch a wrong program, and as many random ones. */
export type Lesson = { stratum: Stratum; prompt: string } & Record<Expert, KeyholeArgs[]>;

const casesOf = ({ base, rules }: KeyholeSpec): { stratum: Stratum; prompt: string }[] =>
  rules.map((rule) => {
    const spec = { base, rules: [rule] };
    return { stratum: rule.stratum, prompt: promptOf(renderDescription(spec), renderCode(spec)) };
  });

/** Samples the untrained writer on problems of no other seed, until it has caught enough. Kept in a file, which both arms read. */
export async function lessonsOf(
  engine: Engine,
  store: string,
  seed: number,
  say: (line: string) => void,
  most = MOST_TOKENS,
): Promise<Lesson[]> {
  const file = join(store, `lessons-${seed}.json`);
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8')) as Lesson[];
  const random = new RandomStream('keyhole-expert', seed);
  const lessons: Lesson[] = [];
  const caught = { direct: 0, computed: 0, conjunctive: 0 };
  const isOpen = ({ stratum }: { stratum: Stratum }): boolean => caught[stratum] < CATCHING;
  let variant = 1e9 + seed * 1e6; // the taught writers have smaller numbers
  for (let tokens = 0; tokens < most && STRATA.some((stratum) => isOpen({ stratum })); ) {
    const problems = Array.from({ length: PROBLEMS }, () =>
      variantOf(random.choice(keyholeProblems('train')), variant++),
    );
    const jobs = problems.flatMap((problem) => {
      const open = casesOf(problem.spec).filter(isOpen);
      return open.map((one) => ({ ...one, problem, key: ['expert', seed, problem.id, one.stratum] }));
    });
    const written = await sampleCases(engine, jobs, { turns: TURNS, temperature: 1 });
    tokens += written.tokens;
    for (const [i, { problem, prompt, stratum }] of jobs.entries()) {
      const inputs = written.inputs[i]!.filter(isLegal) as unknown as KeyholeArgs[];
      const targets = problem.wrong.filter((one) => one.stratum === stratum && one.flaw !== 'extra');
      const catches = (args: KeyholeArgs): boolean =>
        targets.some(({ spec }) => interpretKeyhole(spec, args) !== interpretKeyhole(problem.spec, args));
      const found = distinct(inputs.filter(catches));
      const expert = found.slice(0, INPUTS).map((args) => (random.uniform() < 0.5 ? shrunk(args, catches) : args));
      caught[stratum] += expert.length;
      if (expert.length > 0)
        lessons.push({ stratum, prompt, expert, 'expert-placebo': random.sample(inputs, expert.length) });
    }
    say(`lessons, seed ${seed}: ${tokens} tokens, caught ${JSON.stringify(caught)}`);
  }
  writeAtomically(file, (fd) => writeFileSync(fd, JSON.stringify(lessons)));
  return lessons;
}

/** The inputs for each job, and the tokens of all prompts and answers, and of the answers. */
async function sampleCases(
  engine: Engine,
  jobs: readonly { prompt: string; key: (string | number)[] }[],
  { turns, temperature }: { turns: number; temperature: number },
): Promise<{ inputs: Value[][][]; tokens: number; answered: number }> {
  const requests = jobs.flatMap(({ prompt, key }) => {
    const tokens = engine.encode(prompt);
    return Array.from({ length: turns }, (_, turn) => ({ prompt: tokens, key: deriveKey('catches', ...key, turn) }));
  });
  const stopTokens = engine.info.eosTokens;
  const answers = await engine.generate(requests, { maxNewTokens: LONGEST, temperature, stopTokens });
  const answered = answers.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const tokens = requests.reduce((sum, { prompt }) => sum + prompt.length, answered);
  const read = answers.map((answer) => readInputs(engine, answer.tokens));
  return { inputs: jobs.map((_, i) => read.slice(i * turns, (i + 1) * turns).flat()), tokens, answered };
}

/** Replaces numbers by 0 and drops elements of the list, as long as the input still catches. */
function shrunk(args: KeyholeArgs, catches: (args: KeyholeArgs) => boolean): KeyholeArgs {
  const [nums, a, b] = args;
  const fewer = nums.length === 1 ? [] : nums.map((_, i): KeyholeArgs => [nums.toSpliced(i, 1), a, b]);
  const zeros = nums.map((_, i): KeyholeArgs => [nums.with(i, 0), a, b]);
  const smaller: KeyholeArgs[] = [[nums, 0, b], [nums, a, 0], ...fewer, ...zeros];
  const next = smaller.find((other) => JSON.stringify(other) !== JSON.stringify(args) && catches(other));
  return next ? shrunk(next, catches) : args;
}

/** The training rows of the lessons, with the strata in turns. */
export function rowsOf(vocabulary: TinyVocabulary, lessons: readonly Lesson[], arm: Expert, seed: number) {
  const strata = [...groupBy(lessons, ({ stratum }) => stratum).values()];
  return (index: number): TrainingRow => {
    const lesson = new RandomStream('expert-row', seed, index).choice(strata[index % strata.length]!);
    return encodeExample(vocabulary, lesson.prompt, answerText(lesson[arm]));
  };
}

const distinct = <T>(inputs: readonly T[]): T[] => [
  ...new Map(inputs.map((args) => [JSON.stringify(args), args])).values(),
];

/** Distinct inputs for all programs of a problem: one for each special case, then another one for each, and so on. */
export async function writeCases(engine: Engine, problems: readonly FrozenProblem[], seed: number): Promise<Written> {
  const before = cpuSeconds();
  const jobs = problems.flatMap(({ id, wrong, reference }) =>
    casesOf(parseCode(reference.code)!).map((one, c) => ({ ...one, wrong, key: ['cases', seed, id, c] })),
  );
  const { inputs, answered } = await sampleCases(engine, jobs, { turns: WRITING_TURNS, temperature: TEMPERATURE });
  const seconds = (cpuSeconds() - before) / answered;
  const cases = jobs.map(({ wrong }, i) => ({ wrong, own: distinct(inputs[i]!) }));
  const ofProgram: Record<string, Value[][]> = {};
  for (let i = 0; i < WRITING_TURNS * INPUTS; i++)
    for (const { wrong, own } of cases)
      for (const { id } of wrong) ofProgram[id] = [...(ofProgram[id] ?? []), ...own.slice(i, i + 1)];
  return { inputs: ofProgram, tokens: answered / inputs.flat().length, seconds };
}
