// Searches for inputs that tell programs from their references. The search itself runs in the sandbox.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ExecutionJob, limitsSchema } from '../core/schema/execution.js';
import type { Value } from '../core/schema/value.js';
import { ROOT } from '../infra/root.mjs';
import type { RunOptions, Sandbox } from './sandbox.js';

const read = (name: string): string => readFileSync(join(ROOT, `sandbox/search/${name}.py`), 'utf8');
const CODE = ['distances', 'changes', 'search'].map(read).join('\n\n');
/** Large limits, because a slow machine must find the same inputs. */
const LIMITS = limitsSchema.parse({ cpuSeconds: 60, caseCpuSeconds: 60, wallSeconds: 120 });
const RUNS = 1000;
export const MOST_KNOWN = 32;

export interface InputSearch {
  reference: string;
  program: string; // '' to search in the reference only
  entry: string; // 'solve' or 'Solution.solve'
  known: readonly Value[][]; // inputs that the reference accepts; if there are none, its annotations say where to begin
  count: number;
  seed: number;
  runs?: number; // the most inputs on which program and reference run
  grows?: boolean; // large inputs come first
  shrinks?: boolean; // only inputs on which the two differ, made as simple as possible
}

/**
 * Up to `count` inputs for each search, the most promising ones first. Undefined if the reference accepts no input to begin with, if
 * a program ends the process, or if it needs too much time.
 * Programs cannot forge verdicts here: an input counts only after it ran as a test.
 */
export async function searchInputs(
  sandbox: Sandbox,
  searches: readonly InputSearch[],
  options?: RunOptions,
): Promise<(Value[][] | undefined)[]> {
  const jobs = searches.map(searchJob);
  const results = searches.length === 0 ? [] : await sandbox.run(jobs, options);
  return results.map(({ calls: [call] }) =>
    call?.kind === 'value' && Array.isArray(call.value) ? call.value.filter((args) => Array.isArray(args)) : undefined,
  );
}

/** The execution that does a search. */
export function searchJob(search: InputSearch, at = 0): ExecutionJob {
  const { reference, program, entry, known, count, seed, runs = RUNS, shrinks = false, grows = false } = search;
  const given: Value[] = [reference, program, entry, known.slice(0, MOST_KNOWN), count, seed, runs, shrinks, grows];
  return { id: `search:${at}`, code: CODE, entry: 'search', inputs: [given], limits: LIMITS };
}
