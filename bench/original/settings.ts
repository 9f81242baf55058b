// What both sides of `bench original` share: the model, the problems, and how the original is started.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatArguments, formatValue } from '../../core/parse/format.js';
import type { Problem } from '../../core/schema/problem.js';
import { ROOT } from '../../infra/root.mjs';
import { Peer } from '../peers/peer.js';

export const PRESET = 'smollm2-135m';
export const PROBLEMS = 'steps:1';
export const STAGE = 1; // the stage in training; the original always samples all five
export const MAX_NEW_TOKENS = 112;
export const LIMIT_SECONDS = 7200; // of a request to a peer

export interface Setting {
  model: string; // folder
  python: string; // with the packages of the original
  checkout: string; // of the original
  folder: string; // for files of this benchmark
  say: (line: string) => void;
}

export function startOriginal({ python, checkout, model, folder }: Setting, problems: readonly Problem[]): Peer {
  const file = join(folder, 'problems.json');
  writeFileSync(file, JSON.stringify(problems.map(inItsFormat)));
  const script = join(ROOT, 'bench', 'original', 'original_peer.py');
  const args = ['-W', 'ignore', script, checkout, model, file, `${MAX_NEW_TOKENS}`, `${STAGE}`];
  return Peer.start('original', python, args, { CUDA_VISIBLE_DEVICES: '', HF_HUB_OFFLINE: '1' });
}

const inItsFormat = (problem: Problem): object => ({
  id: problem.id,
  description: problem.description,
  function_signature: problem.functionSignature,
  baseline_tests: problem.baselineTests.map(
    ({ args, expected }) => `assert ${problem.entry}${formatArguments(args)} == ${formatValue(expected)}`,
  ),
  reference_solution: problem.referenceSolution,
  difficulty: problem.difficulty,
  tags: problem.tags,
});
