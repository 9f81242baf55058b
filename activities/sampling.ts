// One sampled turn for every row of a batch. A prompt that leaves no room in the context ends as a truncated, empty
// answer: a result like any other, never a crash.
import type { RunConfig } from '../core/schema/config.js';
import type { Engine, GenerateOptions, GenerateRow } from '../ml/session/engine.js';
import type { Scope } from './scope.js';

export interface SampledTurn {
  promptTokens: number[];
  answerTokens: number[];
  text: string;
  truncated: boolean;
}

export interface SamplingRow {
  history: number[]; // the sequence so far
  prompt: number[]; // appended to it before sampling
  key: readonly [number, number];
}

/** What evaluation and solving leave out of the distribution; those that leave out nothing are absent. */
export function drawCuts({ sampling }: RunConfig): Pick<GenerateOptions, 'topP' | 'topK' | 'repetitionPenalty'> {
  const { topP, topK, repetitionPenalty } = sampling;
  return {
    ...(topP < 1 ? { topP } : {}),
    ...(topK > 0 ? { topK } : {}),
    ...(repetitionPenalty > 1 ? { repetitionPenalty } : {}),
  };
}

export async function sampleTurns(
  scope: Scope,
  engine: Engine,
  rows: SamplingRow[],
  options: Omit<GenerateOptions, 'stopTokens' | 'signal' | 'onProgress'>,
): Promise<{ turns: SampledTurn[]; tokens: number }> {
  const { contextLength, eosTokens } = engine.info;
  const room = (row: SamplingRow): boolean => row.history.length + row.prompt.length < contextLength;
  const sampled: GenerateRow[] = rows
    .filter(room)
    .map((row) => ({ prompt: [...row.history, ...row.prompt], key: row.key }));
  const answers =
    sampled.length === 0
      ? []
      : await engine.generate(sampled, {
          ...options,
          stopTokens: eosTokens,
          signal: scope.signal,
          onProgress: (tokens) => scope.heartbeat({ tokens }),
        });
  let next = 0;
  let tokens = 0;
  const turns = rows.map((row): SampledTurn => {
    if (!room(row)) return { promptTokens: row.prompt, answerTokens: [], text: '', truncated: true };
    const { tokens: answerTokens, finished } = answers[next++]!;
    tokens += answerTokens.length;
    const body = finished ? answerTokens.slice(0, -1) : answerTokens;
    return { promptTokens: row.prompt, answerTokens, text: engine.decode(body), truncated: !finished };
  });
  return { turns, tokens };
}
