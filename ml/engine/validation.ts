// Checks inputs. The messages name the field; the engine adds the row.
import { GauntletError } from '../../core/base/errors.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import type { SamplingOptions } from '../decode/sampler.js';

interface RowLimits {
  vocabSize: number;
  contextLength: number;
}

/** @throws {GauntletError} BAD_INPUT naming the first row that has a fault */
export function refuseFaults<R>(rows: readonly R[], fault: (row: R) => string | undefined): void {
  rows.forEach((row, i) => {
    const reason = fault(row);
    if (reason !== undefined) throw new GauntletError('BAD_INPUT', `row ${i}: ${reason}`);
  });
}

const PER_TOKEN = ['mask', 'oldLogprobs', 'advantages', 'referenceLogprobs'] as const;

/** @returns what is wrong; undefined if the tokens are valid */
export function tokensFault(tokens: readonly number[], { vocabSize, contextLength }: RowLimits): string | undefined {
  if (tokens.length === 0) return 'there are no tokens';
  if (tokens.length > contextLength)
    return `${tokens.length} tokens are more than the model's context of ${contextLength}`;
  const at = tokens.findIndex((id) => !(Number.isInteger(id) && id >= 0 && id < vocabSize));
  return at < 0 ? undefined : `token ${tokens[at]} is outside 0..${vocabSize - 1}, the vocabulary (tokens[${at}])`;
}

/** Checks that every array has one finite number per token, except for entry 0. @returns what is wrong */
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

/** @returns what is wrong; undefined if the options are valid */
export function samplingFault({ temperature, topP, topK, repetitionPenalty }: SamplingOptions): string | undefined {
  if (!(temperature >= 0)) return `temperature must be at least 0, is ${temperature}`;
  if (topP !== undefined && !(topP > 0 && topP <= 1)) return `topP must be in (0, 1], is ${topP}`;
  if (topK !== undefined && !(Number.isInteger(topK) && topK > 0)) return `topK must be a positive integer, is ${topK}`;
  if (repetitionPenalty !== undefined && !(repetitionPenalty > 0))
    return `repetitionPenalty must be above 0, is ${repetitionPenalty}`;
  return undefined;
}
