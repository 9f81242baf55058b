// Continuous batching on a device that steps by itself. A slot is a row of its caches. Steps run in chunks: before a chunk,
// the host sets the state of all rows and reads prompts into free ones; after it, it takes the tokens. A row that ends
// within a chunk waits for its end. Every run has the same sizes, so the tokens of a sequence depend on weights, prompt, key
// and options only.
import { GauntletError } from '../../core/base/errors.js';
import { uniformAt } from '../../core/base/random.js';
import type { GenerateCounts, Generated, GenerateRequest } from '../engine/engine.js';
import { NOT_FINITE } from '../nn/samplingGraph.js';
import { type DecodeHooks, type DecodeOptions, isEnded } from './decodeSession.js';

/** The state of all rows before a chunk; see buildSamplingStep. */
export interface RowStates {
  token: BigInt64Array; // [rows]
  position: BigInt64Array; // [rows]
  limit: BigInt64Array; // [rows]
  uniforms: Float64Array; // [steps, rows]
}

/** The first tokens of a sequence, and the row of the caches that gets their keys and values. */
export interface RowStart {
  row: number;
  tokens: readonly number[];
}

export interface SlotDevice {
  readonly rows: number;
  readonly positions: number; // length of a row
  readonly steps: number; // length of a chunk
  /** Sets temperature, topP and stop tokens for the following chunks. */
  begin(options: DecodeOptions): void | Promise<void>;
  /** Reads at most `promptRows(length)` sequences of at most `length` tokens. */
  readStarts(starts: readonly RowStart[], length: number): void | Promise<void>;
  /** Runs the first `count` steps of a chunk. @returns the tokens, [at least count, rows]; those of ended rows are not read */
  runSteps(states: RowStates, count: number): BigInt64Array | Promise<BigInt64Array>;
}

interface Slot {
  index: number; // the place of the request
  request: GenerateRequest;
  limit: number; // tokens that may be sampled
}

/** The most prompts, and the most of their tokens, that are read together: attention over more would need much memory. */
const PROMPT_ROWS = 8;
const PROMPT_TOKENS = 4096;
/** How many sequences of this padded length are read together at most. */
export const promptRows = (length: number): number =>
  Math.max(1, Math.min(PROMPT_ROWS, Math.floor(PROMPT_TOKENS / length)));
const PROMPT_STEP = 64; // lengths are padded to a multiple, so that there are few shapes

export class Slots {
  constructor(
    private readonly device: SlotDevice,
    private readonly contextLength: number,
  ) {}

  /**
   * Answers in the order of the requests. A prompt that leaves no room in the context gets an empty, unfinished answer.
   * @throws {RangeError} if a prompt with its answer needs more positions than a row has
   */
  async generate(
    requests: readonly GenerateRequest[],
    options: DecodeOptions,
    { check, onTokens }: DecodeHooks = {},
  ): Promise<{ answers: Generated[]; counts: GenerateCounts }> {
    const { rows, positions } = this.device;
    const counts: GenerateCounts = { prefilled: 0, redecoded: 0, reused: 0, sampled: 0 };
    const answers = requests.map((): Generated => ({ tokens: [], finished: false }));
    const waiting: Slot[] = requests.flatMap((request, index) => {
      const { length } = request.prompt;
      const limit = Math.min(options.maxNewTokens, this.contextLength - length);
      if (limit > 0 && length + limit > positions)
        throw new RangeError(`a prompt of ${length} and ${limit} tokens need more than ${positions} positions`);
      return limit > 0 ? [{ index, request, limit }] : [];
    });
    const slots = new Array<Slot | undefined>(rows).fill(undefined);
    await this.device.begin(options);
    while (waiting.length > 0 || slots.some(Boolean)) {
      for (const group of readGroups(refill(slots, waiting), positions)) {
        check?.();
        await this.device.readStarts(group.starts, group.length);
        counts.prefilled += group.starts.reduce((sum, { tokens }) => sum + tokens.length, 0);
      }
      check?.();
      const sampled = await this.runChunk(slots, answers, options);
      counts.sampled += sampled;
      onTokens?.(sampled);
    }
    return { answers, counts };
  }

  /** Appends tokens to the answers and frees the slots of those that end. @returns the number of tokens */
  private async runChunk(
    slots: (Slot | undefined)[],
    answers: readonly Generated[],
    options: DecodeOptions,
  ): Promise<number> {
    const { rows, steps } = this.device;
    const states: RowStates = {
      token: new BigInt64Array(rows),
      position: new BigInt64Array(rows),
      limit: new BigInt64Array(rows), // 0: the row has ended
      uniforms: new Float64Array(steps * rows).fill(0.5),
    };
    let count = 0;
    slots.forEach((slot, row) => {
      if (!slot) return;
      const { prompt, key } = slot.request;
      const { tokens } = answers[slot.index]!;
      const left = Math.min(steps, slot.limit - tokens.length);
      count = Math.max(count, left);
      states.token[row] = BigInt(tokens.at(-1) ?? prompt.at(-1)!);
      states.position[row] = BigInt(prompt.length + tokens.length - 1);
      states.limit[row] = BigInt(left);
      for (let k = 0; k < left; k++) states.uniforms[k * rows + row] = uniformAt(key, tokens.length + k);
    });
    const emitted = await this.device.runSteps(states, count);
    let sampled = 0;
    slots.forEach((slot, row) => {
      if (!slot) return;
      const answer = answers[slot.index]!;
      for (let k = 0; k < Number(states.limit[row]) && !answer.finished; k++) {
        const token = Number(emitted[k * rows + row]);
        if (token === NOT_FINITE)
          throw new GauntletError('BAD_MODEL', 'the probabilities of the next token are not finite');
        answer.tokens.push(token);
        answer.finished = isEnded(answer.tokens, 0, options);
        sampled++;
      }
      if (answer.finished || answer.tokens.length === slot.limit) slots[row] = undefined;
    });
    return sampled;
  }
}

/** Moves waiting sequences into free slots. @returns what must be read for them: all tokens of a prompt but the last */
function refill(slots: (Slot | undefined)[], waiting: Slot[]): RowStart[] {
  const starts: RowStart[] = [];
  for (let row = 0; row < slots.length && waiting.length > 0; row++) {
    if (slots[row]) continue;
    const slot = waiting.shift()!;
    slots[row] = slot;
    const tokens = slot.request.prompt.slice(0, -1);
    if (tokens.length > 0) starts.push({ row, tokens });
  }
  return starts;
}

/** Groups sequences that are read together. Each is padded to a length that does not depend on the other sequences. */
function readGroups(starts: readonly RowStart[], positions: number): { length: number; starts: RowStart[] }[] {
  const groups: { length: number; starts: RowStart[] }[] = [];
  for (const start of starts) {
    const length = Math.min(positions, PROMPT_STEP * Math.ceil(start.tokens.length / PROMPT_STEP));
    const open = groups.find((group) => group.length === length && group.starts.length < promptRows(length));
    if (open) open.starts.push(start);
    else groups.push({ length, starts: [start] });
  }
  return groups;
}
