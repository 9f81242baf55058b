// What is wrong with a row that someone hands in, in words that name the place: the engine says which row it was, the
// command line which line.
import type { Trajectory } from '../../core/schema/trajectory.js';
import type { SamplingOptions } from '../decode/sampler.js';

/** What a model takes. */
export interface RowLimits {
  vocabSize: number;
  contextLength: number;
}

const PER_TOKEN = ['mask', 'oldLogprobs', 'advantages', 'referenceLogprobs', 'oldValues', 'returns'] as const;

/** @returns undefined where nothing is wrong. */
export function tokensFault(tokens: readonly number[], { vocabSize, contextLength }: RowLimits): string | undefined {
  if (tokens.length === 0) return 'there are no tokens';
  if (tokens.length > contextLength)
    return `${tokens.length} tokens are more than the model's context of ${contextLength}`;
  const at = tokens.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
  return at < 0 ? undefined : `token ${tokens[at]} is outside 0..${vocabSize - 1}, the vocabulary (tokens[${at}])`;
}

/** Arrays as long as tokens, every number finite; entry 0 is never read. @returns undefined where nothing is wrong. */
export function trajectoryFault(row: Trajectory, limits: RowLimits): string | undefined {
  const fault = tokensFault(row.tokens, limits);
  if (fault !== undefined) return fault;
  if (!Number.isFinite(row.advantage)) return `advantage is ${row.advantage}, a finite number is needed`;
  for (const name of PER_TOKEN) {
    const values = row[name];
    if (values === undefined) continue;
    if (values.length !== row.tokens.length)
      return `${name} has ${values.length} entries, tokens has ${row.tokens.length}`;
    const at = values.findIndex((value, t) => t > 0 && !Number.isFinite(value));
    if (at >= 0) return `${name}[${at}] is ${values[at]}, a finite number is needed`;
  }
  return undefined;
}

/** What is wrong with how an answer is to be sampled; undefined: nothing. */
export function samplingFault({ temperature, topP, topK, repetitionPenalty }: SamplingOptions): string | undefined {
  if (!(temperature >= 0)) return `temperature must be at least 0, is ${temperature}`;
  if (topP !== undefined && !(topP > 0 && topP <= 1)) return `topP must be in (0, 1], is ${topP}`;
  if (topK !== undefined && !(Number.isInteger(topK) && topK > 0)) return `topK must be a positive integer, is ${topK}`;
  if (repetitionPenalty !== undefined && !(repetitionPenalty > 0))
    return `repetitionPenalty must be above 0, is ${repetitionPenalty}`;
  return undefined;
}
