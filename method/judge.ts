// The activities that judge programs and tests in the sandbox.
import type { Ref } from '../core/base/ref.js';
import type { ReplayBuffer } from '../core/rewards/archive.js';
import type { Chain, TestBatch, TestTarget } from '../core/schema/chain.js';
import type { ChainView } from '../core/schema/chainView.js';
import type { Problem, Rejected } from '../core/schema/problem.js';
import type { Position, RunRef } from '../core/schema/runRef.js';
import type { Solution } from '../core/schema/solving.js';
import type { SuiteVerdicts } from '../core/schema/verdicts.js';
import { result } from './activity.js';

export interface SelectChainsInput {
  run: RunRef;
  chains: Ref<Chain[]>;
  replayBuffer: Ref<ReplayBuffer>;
  position: Position;
}

export interface SelectChainsOutput {
  targets: Ref<TestTarget[]>;
  replayBuffer: Ref<ReplayBuffer>;
  executions: number; // how many programs ran
}

export const selectChains = result<SelectChainsInput, SelectChainsOutput>('selectChains', 8, {
  queue: 'sandbox',
  needs: 'sandbox',
});

export interface ExecuteSuiteInput {
  run: RunRef;
  /** 'problem': all chains of a problem share a suite. 'target': each chain is judged on the tests written for it. */
  per: 'problem' | 'target';
  suite: 'baseline' | 'hidden';
  chains?: Ref<Chain[]>; // given if `per` is 'problem'
  tests?: Ref<TestBatch>;
  replayBuffer?: Ref<ReplayBuffer>; // in training: tests of the mistake book join the suite
  mutants?: number; // the most mutants of each reference that run on the suite; default: what the reward scheme says
}

export interface ExecuteSuiteOutput {
  verdicts: Ref<SuiteVerdicts[]>;
  executions: number; // how many programs ran, references included
}

export const executeSuite = result<ExecuteSuiteInput, ExecuteSuiteOutput>('executeSuite', 8, {
  queue: 'sandbox',
  needs: 'sandbox',
});

export interface CollectSolutionsInput {
  run: RunRef;
  chains: Ref<Chain[]>;
  verdicts: Ref<SuiteVerdicts[]>;
  tests?: Ref<TestBatch>;
}

export interface CollectSolutionsOutput {
  solutions: Ref<Solution[]>;
  views: Ref<ChainView[]>;
  solved: number; // the number of problems with a sample that passes every test
  problems: number;
}

export const collectSolutions = result<CollectSolutionsInput, CollectSolutionsOutput>('collectSolutions', 6, {
  queue: 'cpu',
});

/** A problem, and programs that may be wrong. */
export interface HardeningTask {
  problem: Problem;
  programs: string[];
}

/** A problem with the tests that were added, and how many wrong programs are known; or why the problem cannot be used. */
export type Hardened =
  | {
      problem: Problem; // new tests follow its baseline tests
      added: number; // how many tests are new
      wrong: number; // the programs that a test catches
      cheating: string[]; // those of them that pass the given tests
      left: number; // how many of these still pass
    }
  | Rejected;

export interface HardenProblemsInput {
  run: Pick<RunRef, 'runId' | 'config' | 'engine'>;
  part: Ref<HardeningTask[]>;
  tests: number; // the most tests that are added to a problem
}

export interface HardenProblemsOutput {
  hardened: Ref<Hardened[]>;
  executions: number;
}

export const hardenProblems = result<HardenProblemsInput, HardenProblemsOutput>('hardenProblems', 3, {
  queue: 'sandbox',
  needs: 'sandbox',
});
