// Solves problems with the models of a checkpoint, in this process: a chain of stages for each sample, tests of the
// discriminator for every stage, and the programs' results on them. Prompts, random keys and parsers are those of
// training. Results are events, passed on as soon as there are any.
import { codeOf } from '../chains/chainLists.js';
import { misfitOf } from '../chains/sample/problemFit.js';
import { answerLimits, sampleTurns, samplingFilters, stageRows } from '../chains/sample/sampling.js';
import { GauntletError } from '../core/base/errors.js';
import { deriveKey } from '../core/base/random.js';
import { STAGE_SPECS } from '../core/prompts/stages.js';
import type { Chain, SampledTurn, Stage } from '../core/schema/chain.js';
import type { Problem } from '../core/schema/problem.js';
import type { Solver } from './policies.js';
import {
  type Attempt,
  bestProgram,
  type FailedTest,
  judgeSamples,
  ownTests,
  type TestReport,
  type Unreadable,
  type Written,
  writeTests,
} from './selection.js';

export interface SolveOptions {
  samples: number;
  temperature: number; // 0: greedy
  seed?: number | undefined; // default: the seed of the run
  maxTokens?: number | undefined; // the most tokens of one chain
  tests?: boolean | undefined; // whether the discriminator writes tests; default: if they can have verdicts
  /** Whether baseline tests select the program, before the discriminator's tests. False if baseline tests measure the program. */
  trustBaseline: boolean;
  signal?: AbortSignal;
  onTokens?: (tokens: number) => void; // called while the model samples, also with 0
}

/** The events of solving. `seconds` is the time of everything that was sampled at once, also of other problems. */
export type SolveEvent = StageEvent | TestsEvent | ProgramEvent;

export interface StageEvent {
  event: 'stage';
  problemId: string;
  sample: number;
  stage: Stage;
  title: string;
  text: string;
  truncated: boolean;
  promptTokens: number;
  tokens: number; // how many were sampled
  seconds: number;
}

export interface TestsEvent {
  event: 'tests';
  problemId: string;
  tests: TestReport[];
  unreadable: number;
  reasons: Unreadable;
  tokens: number;
  seconds: number; // time to write and to run the tests
}

/** The program of a sample. Every sample has one such event, in order. */
export interface ProgramEvent {
  event: 'program';
  problemId: string;
  sample: number;
  code: string; // '' if the chain has none
  passed: number; // how many tests of the problem it passes
  tests: number; // how many tests the problem has
  failed?: FailedTest | undefined; // the first of them that it fails
  unjudged?: string | undefined; // why there are none
  writtenPassed: number; // how many tests of the discriminator it passes
  writtenTests: number; // how many of these tests ran
  selected: boolean; // the best program, exactly one of the samples
}

/** A single program is sampled greedily; several must differ. */
export const defaultTemperature = (samples: number): number => (samples > 1 ? 0.8 : 0);

/** @throws GauntletError BAD_INPUT at once if the model cannot read the whole problem; later the reason of `signal` */
export function solveTask(solver: Solver, task: Problem, options: SolveOptions): AsyncGenerator<SolveEvent> {
  const misfit = misfitOf({ generator: solver.generator }, solver.config, task);
  if (misfit !== undefined) throw new GauntletError('BAD_INPUT', `${task.id}: ${misfit}`);
  return solveBatch(solver, [task], options);
}

/** The most programs that are sampled at once. It bounds the memory, and how long the first program takes. */
const MOST_PROGRAMS = 32;

/**
 * Solves problems that the model can read, several at once. The programs are those of one by one, because each row has its own random
 * key. The events of a problem follow each other.
 */
export async function* solveTasks(
  solver: Solver,
  tasks: readonly Problem[],
  options: Omit<SolveOptions, 'maxTokens'>,
): AsyncGenerator<SolveEvent> {
  const size = Math.max(1, Math.floor(MOST_PROGRAMS / options.samples));
  for (let done = 0; done < tasks.length; done += size)
    yield* solveBatch(solver, tasks.slice(done, done + size), options);
}

async function* solveBatch(
  solver: Solver,
  tasks: readonly Problem[],
  options: SolveOptions,
): AsyncGenerator<SolveEvent> {
  const { config, generator } = solver;
  const { signal, samples, temperature, seed = config.seed, onTokens } = options;
  const heartbeat = (progress: unknown): void => onTokens?.((progress as { tokens: number }).tokens);
  const scope = { signal, heartbeat };
  const key = deriveKey(seed, 'solve');
  const byId = new Map(tasks.map((task) => [task.id, task]));
  let chains = tasks.flatMap(({ id }) =>
    Array.from({ length: samples }, (_, sample): Chain => ({ problemId: id, sample, turns: [] })),
  );
  const held: StageEvent[] = []; // until the problems before it are done
  let budget = options.maxTokens ?? Number.POSITIVE_INFINITY;
  for (const stage of config.stages) {
    if (budget <= 0) break;
    const started = performance.now();
    const limits = answerLimits(config, generator, stage);
    const { turns } = await sampleTurns(
      scope,
      generator,
      stageRows({ config, chat: generator.chat }, (id) => byId.get(id)!, chains, stage, key),
      {
        adapter: generator.adapterOf(stage),
        temperature,
        ...limits,
        maxNewTokens: Math.min(limits.maxNewTokens, budget),
        ...samplingFilters(config),
      },
    );
    budget -= Math.max(...turns.map(({ answerTokens }) => answerTokens.length));
    const seconds = (performance.now() - started) / 1000;
    const events = chains.map((chain, i) => stageEvent(chain, stage, turns[i]!, seconds));
    chains = chains.map((chain, i) => ({ ...chain, turns: [...chain.turns, { stage, ...turns[i]! }] }));
    if (tasks.length === 1) yield* events;
    else held.push(...events);
  }
  const attempts = tasks.map((task) => ({ task, chains: chains.filter(({ problemId }) => problemId === task.id) }));
  const started = performance.now();
  // inputs without expected values need a vote of several programs
  const { tests = samples > 1 || config.discriminator.expected === 'model' } = options;
  const written = tests ? await writeTests(solver, attempts, seed, scope) : [];
  const seconds = (performance.now() - started) / 1000;
  const judging = attempts.map((attempt, t) => judged(solver, attempt, written[t], seconds, options));
  for (const each of judging) each.catch(() => undefined); // the first failure ends the loop below
  for (const [t, { task }] of attempts.entries()) {
    const events = await judging[t]!;
    yield* held.filter(({ problemId }) => problemId === task.id);
    yield* events;
  }
}

/** @param writing the seconds in which the tests of all problems were written */
async function judged(
  solver: Solver,
  { task, chains }: Attempt,
  written: Written | undefined,
  writing: number,
  { trustBaseline: trusted, signal }: SolveOptions,
): Promise<SolveEvent[]> {
  const events: SolveEvent[] = [];
  const started = performance.now();
  const programs = chains.map((chain) => codeOf(chain, task, solver.config));
  const own = await ownTests(solver, task, signal);
  const found = await judgeSamples(solver, task, programs, written?.tests ?? [], { trusted, signal, own: own.tests });
  if (written) {
    const { unreadable: reasons, turns } = written;
    events.push({
      event: 'tests',
      problemId: task.id,
      tests: found.tests,
      unreadable: Object.values(reasons).reduce((sum, count) => sum + count, 0),
      reasons,
      tokens: turns.reduce((sum, { answerTokens }) => sum + answerTokens.length, 0),
      seconds: writing + (performance.now() - started) / 1000,
    });
  }
  const best = bestProgram(
    found.programs.map(({ baseline, written, agreement }, sample) => {
      return [Number(programs[sample] !== ''), trusted ? baseline : 0, written, agreement];
    }),
  );
  const writtenTests = found.tests.filter(({ verdicts }) => verdicts.length > 0).length;
  for (const [sample, code] of programs.entries())
    events.push({
      event: 'program',
      problemId: task.id,
      sample,
      code,
      passed: found.programs[sample]!.baseline,
      failed: found.programs[sample]!.failed,
      tests: own.tests.length,
      ...(own.tests.length === 0 && { unjudged: own.unjudged }),
      writtenPassed: found.programs[sample]!.written,
      writtenTests,
      selected: sample === best,
    });
  return events;
}

const stageEvent = ({ problemId, sample }: Chain, stage: Stage, turn: SampledTurn, seconds: number): StageEvent => ({
  event: 'stage',
  problemId,
  sample,
  stage,
  title: STAGE_SPECS[stage].title,
  text: turn.text,
  truncated: turn.truncated,
  promptTokens: turn.promptTokens.length,
  tokens: turn.answerTokens.length,
  seconds,
});
