// Samples inputs from a writer for every frozen program of a split.

import { deriveKey } from '../../../core/base/random.js';
import { salvageInputs } from '../../../core/parse/inputs.js';
import type { Value } from '../../../core/schema/value.js';
import type { Engine } from '../../../ml/engine/engine.js';
import { cpuSeconds } from '../prices.js';
import type { FrozenProblem } from '../programs.js';
import { INPUTS, promptOf } from './corpus.js';

export const TEMPERATURE = 0.5; // on validation, 0.8 miscopies constants more often, and 0.2 repeats inputs
export const LONGEST = 128; // the length limit of a turn in tokens

export interface Written {
  inputs: Record<string, Value[][]>; // program → its inputs in the order in which they were written
  tokens: number; // the tokens sampled per input, including those of unreadable inputs
  seconds: number; // the CPU seconds of a sampled token
}

export interface Turn {
  tokens: number[]; // the tokens of the answer
  inputs: Value[][];
}

export const readInputs = (engine: Pick<Engine, 'decode'>, tokens: readonly number[]): Value[][] =>
  salvageInputs(engine.decode([...tokens]), { entry: 'solve', limit: INPUTS, arity: 3 }).inputs;

export interface Writing {
  isBlind: boolean;
  turns: number; // the number of turns per program; a turn has INPUTS inputs
  seed: number;
}

export async function writeInputs(
  engine: Engine,
  problems: readonly FrozenProblem[],
  { isBlind, turns, seed }: Writing,
): Promise<Written> {
  const jobs = problems.flatMap(({ description, wrong }) =>
    wrong.flatMap(({ id, code }) => {
      const prompt = engine.encode(promptOf(description, isBlind ? undefined : code));
      return Array.from({ length: turns }, (_, turn) => ({
        id,
        prompt,
        key: deriveKey('catches', 'write', seed, id, turn),
      }));
    }),
  );
  const before = cpuSeconds();
  const answers = await engine.generate(
    jobs.map(({ prompt, key }) => ({ prompt, key })),
    {
      maxNewTokens: LONGEST,
      temperature: TEMPERATURE,
      stopTokens: engine.info.eosTokens,
    },
  );
  const used = cpuSeconds() - before;
  const inputs: Record<string, Value[][]> = {};
  let sampled = 0;
  let read = 0;
  for (const [i, { tokens }] of answers.entries()) {
    const found = readInputs(engine, tokens);
    sampled += tokens.length;
    read += found.length;
    const { id } = jobs[i]!;
    inputs[id] = [...(inputs[id] ?? []), ...found];
  }
  return { inputs, tokens: sampled / Math.max(1, read), seconds: used / sampled };
}
