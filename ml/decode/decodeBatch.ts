// The sequences that step together: their tokens, their caches, and the inputs of the next step. The inputs are views of
// buffers that stay the same from step to step.
import { type Tensor, tensor } from '../device/runtime.js';
import { MASKED } from '../nn/attention.js';
import type { DecoderConfig } from '../nn/config.js';
import { ropeOutsideAttention } from '../nn/decodeGraph.js';
import { cacheWidth, KvCaches } from './kvCaches.js';
import type { Segment } from './segments.js';

/** The keys and values of a sequence's first tokens. */
export interface CachedPrefix {
  length: number;
  kv: Float32Array; // [2·layers, KV, positions, hd] with at least `length` positions, in shared memory
}

export interface Sequence {
  index: number; // its place in the request
  key: readonly [number, number];
  tokens: number[]; // the prompt, then the sampled tokens
  promptLength: number;
  segments: readonly Segment[]; // the segments of the prompt
  filled: number; // positions of the cache that are in use
  limit: number; // tokens that may be sampled
}

/** The prompt segment that starts at the sequence's next position; undefined if that position is filled by a step. */
export const promptSegmentAt = ({ segments, filled }: Sequence): Segment | undefined =>
  segments.find(({ from, steps }) => from === filled && !steps);

/** The most prompts, and the most of their tokens, that one run reads. */
export const PREFILL_SEQUENCES = 8;
const PREFILL_TOKENS = 1024;

export class DecodeBatch {
  readonly sequences: Sequence[] = [];
  readonly caches: KvCaches;
  private readonly ids: BigInt64Array;
  private readonly last: BigInt64Array;
  private readonly positions: BigInt64Array;
  private readonly kvIndices: BigInt64Array;
  private readonly seqlensK: Int32Array;
  private readonly totalSequenceLength = new Int32Array(1);
  private mask = new Float32Array(0); // [capacity, slots], like the caches
  private readonly unmasked: number[]; // number of visible positions of each row
  private views: Record<string, Tensor> | undefined;

  /**
   * @param minBatch rows of a step; unused rows fill the batch if there are fewer sequences
   * @param stepGraph whether steps have a separate graph with other inputs
   * @param positions the most tokens of a sequence, with its answer
   */
  constructor(
    private readonly c: DecoderConfig,
    sequences: number,
    private readonly minBatch: number,
    private readonly stepGraph: boolean,
    positions: number,
  ) {
    const capacity = Math.max(sequences, minBatch);
    this.unmasked = new Array<number>(capacity).fill(0);
    this.caches = new KvCaches(c, capacity, positions);
    this.ids = new BigInt64Array(capacity);
    this.last = BigInt64Array.from({ length: capacity }, (_, b) => BigInt(b));
    this.positions = new BigInt64Array(capacity);
    this.seqlensK = new Int32Array(capacity);
    const { kvHeads } = c;
    this.kvIndices = BigInt64Array.from({ length: capacity * kvHeads * 3 }, (_, i) => {
      const line = Math.floor(i / 3);
      return BigInt([Math.floor(line / kvHeads), line % kvHeads, 0][i % 3]!);
    });
  }

  add(sequence: Sequence, prefix?: CachedPrefix): void {
    const b = this.sequences.push(sequence) - 1;
    this.views = undefined;
    if (!prefix) return;
    this.reserve(prefix.length);
    this.caches.write(b, 0, prefix.length, prefix.kv, 1, 0);
    sequence.filled = prefix.length;
  }

  reserve(positions: number): void {
    if (!this.caches.reserve(positions)) return;
    this.views = undefined;
    this.mask = new Float32Array(this.caches.capacity * this.caches.slots).fill(MASKED);
    this.unmasked.fill(0);
  }

  /** Removes sequence b; the last sequence moves to its row. */
  remove(b: number): void {
    const moved = this.sequences.pop()!;
    this.views = undefined;
    if (b === this.sequences.length) return;
    this.caches.move(this.sequences.length, b);
    this.sequences[b] = moved;
  }

  /** The bytes that `copyCache` takes. */
  cacheBytes(b: number): number {
    return 4 * this.sequences[b]!.filled * cacheWidth(this.c);
  }

  copyCache(b: number): CachedPrefix {
    const { filled: length } = this.sequences[b]!;
    const kv = new Float32Array(new SharedArrayBuffer(this.cacheBytes(b)));
    this.caches.read(b, length, kv);
    return { length, kv };
  }

  private get rows(): number {
    return Math.max(this.sequences.length, this.minBatch);
  }

  /** The inputs of the next step: the token of every sequence at its first free position. */
  feeds(): Record<string, Tensor> {
    const { kvHeads } = this.c;
    const { rows } = this;
    const total = this.sequences.reduce((max, { filled }) => Math.max(max, filled + 1), 0);
    this.reserve(total);
    this.totalSequenceLength[0] = total;
    this.sequences.forEach(({ tokens, filled }, b) => {
      this.ids[b] = BigInt(tokens[filled]!);
      this.seqlensK[b] = filled;
      this.positions[b] = BigInt(filled);
      if (this.stepGraph) this.unmask(b, filled);
      else for (let h = 0; h < kvHeads; h++) this.kvIndices[(b * kvHeads + h) * 3 + 2] = BigInt(filled);
    });
    const positions = (): Tensor => tensor(this.positions.subarray(0, rows), [rows, 1]);
    const { slots } = this.caches;
    this.views ??= {
      ...this.caches.feeds(0, rows, this.stepGraph),
      ids: tensor(this.ids.subarray(0, rows), [rows]),
      ...(this.stepGraph
        ? { positions: positions(), mask: tensor(this.mask.subarray(0, rows * slots), [rows, 1, 1, 1, slots]) }
        : {
            batch: tensor(BigInt64Array.of(BigInt(rows), 1n, -1n), [3]),
            seqlensK: tensor(this.seqlensK.subarray(0, rows), [rows]),
            totalSequenceLength: tensor(this.totalSequenceLength, []),
            kvIndices: tensor(this.kvIndices.subarray(0, rows * kvHeads * 3), [rows * kvHeads, 3]),
            last: tensor(this.last.subarray(0, rows), [rows]),
            ...(ropeOutsideAttention(this.c) && { positions: positions() }),
          }),
    };
    return this.views;
  }

  /** Makes exactly the first `filled` positions of row b visible; the row may have held another sequence before. */
  private unmask(b: number, filled: number): void {
    const [from, start] = [this.unmasked[b]!, b * this.caches.slots];
    if (filled > from) this.mask.fill(0, start + from, start + filled);
    else this.mask.fill(MASKED, start + filled, start + from);
    this.unmasked[b] = filled;
  }

  write(kv: Float32Array): void {
    this.sequences.forEach((sequence, b) => {
      this.caches.write(b, sequence.filled, 1, kv, this.rows, b);
      sequence.filled++;
    });
  }
}

/** Lists of batch rows. The sequences of one list start with the same tokens, so one of them is read for all. */
export type PromptGroup = number[][];

/** Groups the sequences whose next segment is a prompt segment. The sequences of a group are read together. */
export function promptGroups(sequences: readonly Sequence[]): PromptGroup[] {
  const waiting = new Map<string, number[]>();
  sequences.forEach((sequence, b) => {
    const segment = promptSegmentAt(sequence);
    if (!segment) return;
    const { from, to } = segment;
    const name = from === 0 ? `${to}: ${sequence.tokens.slice(0, to).join()}` : `sequence ${b}`;
    waiting.set(name, [...(waiting.get(name) ?? []), b]);
  });
  const groups = new Map<number, PromptGroup[]>();
  const alone: PromptGroup[] = [];
  for (const same of waiting.values()) {
    const { from, to } = promptSegmentAt(sequences[same[0]!]!)!;
    const open = groups.get(to)?.at(-1);
    if (from > 0) alone.push([same]);
    else if (open && open.length < Math.min(PREFILL_SEQUENCES, PREFILL_TOKENS / to)) open.push(same);
    else groups.set(to, [...(groups.get(to) ?? []), [same]]);
  }
  return [...[...groups.values()].flat(), ...alone];
}
