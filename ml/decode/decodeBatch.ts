// Rows that step together: their tokens, their caches, and the buffers of the next step's inputs, which are views that
// stay the same from step to step.

import { type Tensor, tensor } from '../device/runtime.js';
import type { DecoderConfig } from '../nn/config.js';
import { MASKED, rotatesApart } from '../nn/decodeGraph.js';
import { cacheWidth, RowCaches } from './kvCaches.js';
import type { Segment } from './segments.js';

/** Keys and values of a row's first tokens. */
export interface KeptCache {
  length: number;
  kv: Float32Array; // [2·layers, KV, places, hd] with at least as many places, in shared memory
}

export interface Row {
  index: number; // in the request
  key: readonly [number, number];
  tokens: number[]; // the prompt, then what was sampled
  prompt: number; // tokens of it
  segments: readonly Segment[]; // of the prompt
  filled: number; // places of the cache
  limit: number; // most tokens it may sample
}

/** The segment of the prompt that a row's next place begins, where it is not one of steps. */
export const promptSegmentAt = ({ segments, filled }: Row): Segment | undefined =>
  segments.find(({ from, steps }) => from === filled && !steps);

const PREFILL_ROWS = 8;
const PREFILL_TOKENS = 1024; // that are read together

export class DecodeBatch {
  readonly rows: Row[] = [];
  readonly caches: RowCaches;
  private readonly ids: BigInt64Array;
  private readonly last: BigInt64Array;
  private readonly positions: BigInt64Array;
  private readonly places: BigInt64Array;
  private readonly length: Int32Array;
  private readonly longest = new Int32Array(1);
  private mask = new Float32Array(0); // [capacity, slots] of the caches
  private readonly unmasked: number[]; // places of each row that are
  private cached: Record<string, Tensor> | undefined;

  /**
   * @param leastRows of a step; where there are fewer, rows that nobody reads make up the number
   * @param stepGraph whether steps have a graph of their own, with other inputs
   */
  constructor(
    private readonly c: DecoderConfig,
    rows: number,
    private readonly leastRows: number,
    private readonly stepGraph: boolean,
  ) {
    const capacity = Math.max(rows, leastRows);
    this.unmasked = new Array<number>(capacity).fill(0);
    this.caches = new RowCaches(c, capacity);
    this.ids = new BigInt64Array(capacity);
    this.last = BigInt64Array.from({ length: capacity }, (_, b) => BigInt(b));
    this.positions = new BigInt64Array(capacity);
    this.length = new Int32Array(capacity);
    const { kvHeads } = c;
    this.places = BigInt64Array.from({ length: capacity * kvHeads * 3 }, (_, i) => {
      const line = Math.floor(i / 3);
      return BigInt([Math.floor(line / kvHeads), line % kvHeads, 0][i % 3]!);
    });
  }

  /** @param kept what to begin with */
  add(row: Row, kept?: KeptCache): void {
    const b = this.rows.push(row) - 1;
    this.cached = undefined;
    if (!kept) return;
    this.reserve(kept.length);
    this.caches.write(b, 0, kept.length, kept.kv, 1, 0);
    row.filled = kept.length;
  }

  reserve(places: number): void {
    if (!this.caches.reserve(places)) return;
    this.cached = undefined;
    this.mask = new Float32Array(this.caches.capacity * this.caches.slots).fill(MASKED);
    this.unmasked.fill(0);
  }

  /** The last row takes the place of row b. */
  remove(b: number): void {
    const row = this.rows.pop()!;
    this.cached = undefined;
    if (b === this.rows.length) return;
    this.caches.move(this.rows.length, b);
    this.rows[b] = row;
  }

  /** All places that are filled, copied. */
  keep(b: number): KeptCache {
    const { filled: length } = this.rows[b]!;
    const kv = new Float32Array(new SharedArrayBuffer(4 * length * cacheWidth(this.c)));
    this.caches.read(b, length, kv);
    return { length, kv };
  }

  /** Inputs of the next step: every row's token at its first free place. */
  feeds(): Record<string, Tensor> {
    const { kvHeads } = this.c;
    const rows = Math.max(this.rows.length, this.leastRows);
    const longest = this.rows.reduce((most, { filled }) => Math.max(most, filled + 1), 0);
    this.reserve(longest);
    this.longest[0] = longest;
    this.rows.forEach(({ tokens, filled }, b) => {
      this.ids[b] = BigInt(tokens[filled]!);
      this.length[b] = filled;
      this.positions[b] = BigInt(filled);
      if (this.stepGraph) this.unmask(b, filled);
      else for (let h = 0; h < kvHeads; h++) this.places[(b * kvHeads + h) * 3 + 2] = BigInt(filled);
    });
    const positions = (): Tensor => tensor(this.positions.subarray(0, rows), [rows, 1]);
    const { slots } = this.caches;
    this.cached ??= {
      ...this.caches.feeds(0, rows, this.stepGraph),
      ids: tensor(this.ids.subarray(0, rows), [rows]),
      ...(this.stepGraph
        ? { positions: positions(), mask: tensor(this.mask.subarray(0, rows * slots), [rows, 1, 1, 1, slots]) }
        : {
            batch: tensor(BigInt64Array.of(BigInt(rows), 1n, -1n), [3]),
            length: tensor(this.length.subarray(0, rows), [rows]),
            longest: tensor(this.longest, []),
            places: tensor(this.places.subarray(0, rows * kvHeads * 3), [rows * kvHeads, 3]),
            last: tensor(this.last.subarray(0, rows), [rows]),
            ...(rotatesApart(this.c) && { positions: positions() }),
          }),
    };
    return this.cached;
  }

  /** Lets row b see its first `filled` places; another row may have stood there before. */
  private unmask(b: number, filled: number): void {
    const [from, start] = [this.unmasked[b]!, b * this.caches.slots];
    if (filled > from) this.mask.fill(0, start + from, start + filled);
    else this.mask.fill(MASKED, start + filled, start + from);
    this.unmasked[b] = filled;
  }

  /** Takes the keys and values of a step in. */
  write(kv: Float32Array): void {
    const rows = Math.max(this.rows.length, this.leastRows);
    this.rows.forEach((row, b) => {
      this.caches.write(b, row.filled, 1, kv, rows, b);
      row.filled++;
    });
  }
}

/** Places of rows in their batch; those of one list read the same tokens. */
export type PromptGroup = number[][];

/** Rows whose next segment is one of a prompt, in groups that are read together; of those that begin alike, one is. */
export function promptGroups(rows: readonly Row[]): PromptGroup[] {
  const waiting = new Map<string, number[]>();
  rows.forEach((row, b) => {
    const segment = promptSegmentAt(row);
    if (!segment) return;
    const { from, to } = segment;
    const name = from === 0 ? `${to}: ${row.tokens.slice(0, to).join()}` : `row ${b}`;
    waiting.set(name, [...(waiting.get(name) ?? []), b]);
  });
  const groups = new Map<number, PromptGroup[]>();
  const alone: PromptGroup[] = [];
  for (const same of waiting.values()) {
    const { from, to } = promptSegmentAt(rows[same[0]!]!)!;
    const open = groups.get(to)?.at(-1);
    if (from > 0) alone.push([same]);
    else if (open && open.length < Math.min(PREFILL_ROWS, PREFILL_TOKENS / to)) open.push(same);
    else groups.set(to, [...(groups.get(to) ?? []), [same]]);
  }
  return [...[...groups.values()].flat(), ...alone];
}
