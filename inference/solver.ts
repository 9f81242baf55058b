// Solves one problem with the models of a checkpoint, in this process: a chain of stages for each sample, tests of the
// discriminator for every stage, and the programs' results on them. Prompts, random keys and parsers are those of
// training. Results are events, passed on as soon as there are any.
import { codeOf } from '../chains/chainLists.js';
import { misfitOf } from '../chains/sample/problemFit.js';
import { sampleTurns, samplingFilters, stageRows } from '../chains/sample/sampling.js';
import { GauntletError } from '../core/base/errors.js';
import { deriveKey } from '../core/base/random.js';
import { STAGE_SPECS } from '../core/prompts/stages.js';
import type { Chain, SampledTurn, Stage } from '../core/schema/chain.js';
import type { Problem } from '../core/schema/problem.js';
import type { Solver } from './policies.js';
import { bestProgram, judgeSamples, type TestReport, writeTests } from './selection.js';

export interface SolveOptions {
  samples: number;
  temperature: number; // 0: greedy
  seed?: number | undefined; // default: the seed of the run
  maxTokens?: number | undefined; // the most tokens of one chain
  tests: boolean; // whether the discriminator writes tests
  /** Whether baseline tests select the program, before the discriminator's tests. False if baseline tests measure the program. */
  trustBaseline: boolean;
  signal?: AbortSignal;
}

/** The events of solving. `seconds` is the time of all samples together, because they are sampled at once. */
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
  answers: number;
  truncated: number; // how many answers are cut
  tokens: number;
  seconds: number; // time to write and to run the tests
}

/** The program of a sample. Every sample has one such event, in order. */
export interface ProgramEvent {
  event: 'program';
  problemId: string;
  sample: number;
  code: string; // '' if the chain has none
  passed: number; // how many baseline tests it passes
  tests: number; // how many baseline tests there are
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
  return eventsOf(solver, task, options);
}

async function* eventsOf(solver: Solver, task: Problem, options: SolveOptions): AsyncGenerator<SolveEvent> {
  const { config, generator } = solver;
  const { signal, samples, temperature, seed = config.seed } = options;
  const key = deriveKey(seed, 'solve');
  let chains = Array.from({ length: samples }, (_, sample): Chain => ({ problemId: task.id, sample, turns: [] }));
  let budget = options.maxTokens ?? Number.POSITIVE_INFINITY;
  for (const stage of config.stages) {
    if (budget <= 0) break;
    const started = performance.now();
    const { turns } = await sampleTurns(
      { signal, heartbeat: () => undefined },
      generator,
      stageRows({ config, chat: generator.chat }, () => task, chains, stage, key),
      {
        adapter: generator.adapterOf(stage),
        temperature,
        maxNewTokens: Math.min(config.sampling.maxNewTokens, budget),
        ...samplingFilters(config),
      },
    );
    budget -= Math.max(...turns.map(({ answerTokens }) => answerTokens.length));
    chains = chains.map((chain, i) => ({ ...chain, turns: [...chain.turns, { stage, ...turns[i]! }] }));
    const seconds = (performance.now() - started) / 1000;
    for (const [sample, turn] of turns.entries()) yield stageEvent(task, stage, sample, turn, seconds);
  }
  const started = performance.now();
  const written = options.tests
    ? await writeTests(solver, task, chains, seed, signal)
    : { tests: [], unreadable: 0, tokens: 0, turns: [] };
  const programs = chains.map((chain) => codeOf(chain, task, config));
  const trusted = options.trustBaseline;
  const judged = await judgeSamples(solver, task, programs, written.tests, { trusted, signal });
  if (options.tests) {
    const { unreadable, tokens, turns } = written;
    const seconds = (performance.now() - started) / 1000;
    const truncated = turns.filter((turn) => turn.truncated).length;
    const found = { tests: judged.tests, unreadable, answers: turns.length, truncated };
    yield { event: 'tests', problemId: task.id, ...found, tokens, seconds };
  }
  const best = bestProgram(
    judged.programs.map(({ baseline, written, agreement }, sample) => {
      return [Number(programs[sample] !== ''), trusted ? baseline : 0, written, agreement];
    }),
  );
  const writtenTests = judged.tests.filter(({ verdicts }) => verdicts.length > 0).length;
  for (const [sample, code] of programs.entries())
    yield {
      event: 'program',
      problemId: task.id,
      sample,
      code,
      passed: judged.programs[sample]!.baseline,
      tests: task.baselineTests.length,
      writtenPassed: judged.programs[sample]!.written,
      writtenTests,
      selected: sample === best,
    };
}

const stageEvent = (task: Problem, stage: Stage, sample: number, turn: SampledTurn, seconds: number): StageEvent => ({
  event: 'stage',
  problemId: task.id,
  sample,
  stage,
  title: STAGE_SPECS[stage].title,
  text: turn.text,
  truncated: turn.truncated,
  promptTokens: turn.promptTokens.length,
  tokens: turn.answerTokens.length,
  seconds,
});
