// Keys and values of the sequences that step together: a buffer [capacity, KV, slots, hd] per layer and kind. A row holds one
// sequence, and the first rows are in use. Buffers are parts of large allocations of the final size: the system gives memory
// only to what was written, and takes a large allocation back as soon as it is collected.
import { type Tensor, tensor } from '../device/runtime.js';
import { cacheNames } from '../nn/cacheAttention.js';
import type { DecoderConfig } from '../nn/config.js';

const ALLOCATION = 1 << 28; // numbers in one allocation, unless a layer has more; Node.js limits the size of an array

/** Numbers that the cache holds for one token. */
export const cacheWidth = ({ layers, kvHeads, headDim }: DecoderConfig): number => 2 * layers * kvHeads * headDim;

/** The number of slots. It grows by an eighth, not by a factor of two, because a step masks and reads all slots. */
function slotsFor(positions: number): number {
  const step = Math.max(16, Math.ceil(positions / 128) * 16);
  return Math.ceil(positions / step) * step;
}

export class KvCaches {
  slots = 0;
  private readonly buffers: Float32Array[];

  /** @param positions the most that a row will have */
  constructor(
    private readonly c: DecoderConfig,
    readonly capacity: number,
    positions: number,
  ) {
    const size = capacity * c.kvHeads * slotsFor(positions) * c.headDim;
    const together = Math.max(1, Math.min(2 * c.layers, Math.floor(ALLOCATION / size)));
    let all = new Float32Array(0);
    this.buffers = Array.from({ length: 2 * c.layers }, (_, i) => {
      if (i % together === 0) all = new Float32Array(together * size);
      return all.subarray((i % together) * size, ((i % together) + 1) * size);
    });
  }

  /** Makes room for `positions` in every row. @returns whether rows were moved */
  reserve(positions: number): boolean {
    if (positions <= this.slots) return false;
    const slots = slotsFor(positions);
    const { kvHeads: KV, headDim: hd } = this.c;
    const [from, to] = [this.slots * hd, slots * hd];
    if (from > 0)
      for (const buffer of this.buffers)
        for (let i = this.capacity * KV - 1; i >= 0; i--) {
          buffer.copyWithin(i * to, i * from, (i + 1) * from);
          buffer.fill(0, i * to + from, (i + 1) * to);
        }
    this.slots = slots;
    return true;
  }

  /** Inputs k{l}, v{l}: views of the rows from..to. @param grouped adds the axis of queries that share a key */
  feeds(from: number, to: number, grouped = false): Record<string, Tensor> {
    const { kvHeads: KV, headDim: hd } = this.c;
    const size = KV * this.slots * hd;
    const shape = [to - from, KV, ...(grouped ? [1] : []), this.slots, hd];
    return this.named((i) => tensor(this.buffers[i]!.subarray(from * size, to * size), shape));
  }
  /** The same inputs without a past. */
  empty(rows: number): Record<string, Tensor> {
    const none = tensor(new Float32Array(0), [rows, this.c.kvHeads, 0, this.c.headDim]);
    return this.named(() => none);
  }
  private named(of: (i: number) => Tensor): Record<string, Tensor> {
    return Object.fromEntries(cacheNames(this.c).map((name, i) => [name, of(i)]));
  }

  /** Copies the first `count` positions of row `from` of kv [2·layers, rows, KV, positions, hd] to `row`, at `position`. */
  write(row: number, position: number, count: number, kv: Float32Array, rows: number, from: number): void {
    const { kvHeads: KV, headDim: hd } = this.c;
    const line = kv.length / (this.buffers.length * rows * KV);
    const size = count * hd;
    for (let i = 0; i < this.buffers.length; i++) {
      const buffer = this.buffers[i]!;
      for (let h = 0; h < KV; h++) {
        const source = ((i * rows + from) * KV + h) * line;
        const target = ((row * KV + h) * this.slots + position) * hd;
        // a step copies one position: creating a view would cost more than the copy
        if (count === 1) for (let j = 0; j < hd; j++) buffer[target + j] = kv[source + j]!;
        else buffer.set(kv.subarray(source, source + size), target);
      }
    }
  }

  /** Reads the first `count` positions of a row as [2·layers, KV, count, hd]. */
  read(row: number, count: number, into: Float32Array): void {
    const { kvHeads: KV, headDim: hd } = this.c;
    const size = count * hd;
    this.buffers.forEach((buffer, i) => {
      for (let h = 0; h < KV; h++) {
        const source = (row * KV + h) * this.slots * hd;
        into.set(buffer.subarray(source, source + size), (i * KV + h) * size);
      }
    });
  }

  move(from: number, to: number): void {
    const size = this.c.kvHeads * this.slots * this.c.headDim;
    for (const buffer of this.buffers) buffer.copyWithin(to * size, from * size, (from + 1) * size);
  }
}
