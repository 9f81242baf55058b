// Samples one turn for every row of a batch. A prompt that fills the context gives a truncated, empty answer.
import { sampledRanges, sequenceOf, type TokenTurn } from '../core/rl/trajectories.js';
import type { SampledTurn } from '../core/schema/chain.js';
import type { RunConfig } from '../core/schema/config.js';
import type { Engine, GenerateOptions, GenerateRequest } from '../ml/engine/engine.js';
import type { Scope } from './scope.js';

interface SamplingRow {
  turns: readonly TokenTurn[]; // the sequence so far
  prompt: number[]; // appended to it before sampling
  key: readonly [number, number];
}

/** The filters of evaluation and solving. Disabled filters are absent. */
export function samplingFilters({ sampling }: RunConfig): Pick<GenerateOptions, 'topP' | 'topK' | 'repetitionPenalty'> {
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
  const asked = rows.map(({ turns, prompt, key }): GenerateRequest => {
    const sampled = sampledRanges(turns);
    const whole = sequenceOf([...turns, { promptTokens: prompt, answerTokens: [] }]);
    return { prompt: whole, key, ...(sampled.length > 0 ? { sampled } : {}) };
  });
  const room = ({ prompt }: GenerateRequest): boolean => prompt.length < contextLength;
  const sampled = asked.filter(room);
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
  const turns = rows.map((row, i): SampledTurn => {
    if (!room(asked[i]!)) return { promptTokens: row.prompt, answerTokens: [], text: '', truncated: true };
    const { tokens: answerTokens, finished } = answers[next++]!;
    tokens += answerTokens.length;
    const body = finished ? answerTokens.slice(0, -1) : answerTokens;
    return { promptTokens: row.prompt, answerTokens, text: engine.decode(body), truncated: !finished };
  });
  return { turns, tokens };
}
