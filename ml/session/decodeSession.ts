// Generation on one thread: prompts are prefilled in small groups, then all rows of a chunk step together and leave as
// they finish. A row's tokens depend on weights, prompt, key and options only, not on who is in the chunk with it:
// padding is invisible (see decodeGraph.ts), and products of two rows or more give each row the same bits, so a batch
// never has fewer than two.
import type ort from 'onnxruntime-node';
import { uniformAt } from '../../core/random.js';
import type { TensorData } from '../hf/safetensors.js';
import { buildDecodeGraph, buildPrefillGraph, MASKED } from '../nn/decodeGraph.js';
import type { DecoderConfig } from '../nn/decoder.js';
import { encodeModel } from '../onnx/encode.js';
import type { Generated, GenerateRow } from './engine.js';
import { GraphSession, tensor } from './runtime.js';
import { Sampler, type SamplingOptions } from './sampler.js';

export interface DecodeOptions extends SamplingOptions {
  maxNewTokens: number;
  stopTokens: readonly number[];
}

export interface DecodeHooks {
  /** Called before every step; throws to stop. */
  check?: () => void;
  /** Tokens that were sampled since the last call. */
  onTokens?: (count: number) => void;
}

const PREFILL_ROWS = 8;
const PREFILL_STEP = 32; // short prompts are padded to a multiple of this, long ones to a cache size
const MIN_BATCH = 2;

/** Cache sizes: few, so that few graphs are compiled; all multiples of 64, which keeps sums in the same order. */
export function cacheSlots(needed: number): number {
  let slots = 64;
  while (slots < needed) slots += slots < 256 ? 64 : slots < 512 ? 128 : 512;
  return slots;
}

interface Row {
  index: number; // in the request
  key: readonly [number, number];
  tokens: number[];
  length: number; // places of the cache that are filled
  limit: number; // most tokens it may sample
}

interface Prefilled {
  logits: Float32Array; // [rows, vocab]
  kv: Float32Array; // [2·layers·rows, KV, length, hd]
  rows: number;
  length: number;
}

export class DecodeSession {
  private readonly sessions = new Map<string, Promise<GraphSession>>();
  private weights: Record<string, ort.Tensor> = {};
  private readonly sampler: Sampler;

  constructor(
    private readonly shape: DecoderConfig,
    private readonly contextLength: number,
    private readonly threads = 1,
  ) {
    this.sampler = new Sampler(shape.vocab);
  }

  /** Takes the arrays as they are (no copy); a LoRA adapter is merged by the caller. */
  setWeights(weights: ReadonlyMap<string, TensorData>): void {
    this.weights = Object.fromEntries([...weights].map(([name, t]) => [name, tensor(t.data, t.shape)]));
  }

  /** Answers in the order of the rows. A prompt that leaves no room in the context gets an empty, unfinished answer. */
  async generate(rows: readonly GenerateRow[], options: DecodeOptions, hooks: DecodeHooks = {}): Promise<Generated[]> {
    const results: Generated[] = rows.map(() => ({ tokens: [], finished: false }));
    const chunk = new Chunk(this.shape);
    const sampleInto = (row: Row, logits: Float32Array, offset: number): boolean => {
      const token = this.sampler.sample(logits, offset, options, uniformAt(row.key, row.tokens.length));
      row.tokens.push(token);
      const finished = options.stopTokens.includes(token);
      if (finished || row.tokens.length >= row.limit) results[row.index] = { tokens: row.tokens, finished };
      return finished || row.tokens.length >= row.limit;
    };
    const able = rows.map((row, index) => ({ ...row, index })).filter((row) => row.prompt.length < this.contextLength);
    chunk.reserve(able.length, Math.max(1, ...able.map((row) => row.prompt.length)) + 1);
    for (const group of groupByPrompt(able)) {
      hooks.check?.();
      const prefilled = await this.prefill(group.map((same) => same[0]!.prompt));
      let sampled = 0;
      group.forEach((same, g) => {
        for (const { index, key, prompt } of same) {
          const limit = Math.min(options.maxNewTokens, this.contextLength - prompt.length);
          const row: Row = { index, key, tokens: [], length: prompt.length, limit };
          if (limit < 1) continue;
          sampled++;
          if (!sampleInto(row, prefilled.logits, g * this.shape.vocab)) chunk.add(row, prefilled, g);
        }
      });
      hooks.onTokens?.(sampled);
    }
    while (chunk.rows.length > 0) {
      hooks.check?.();
      const { logits } = await this.step(chunk);
      hooks.onTokens?.(chunk.rows.length);
      for (let b = chunk.rows.length - 1; b >= 0; b--)
        if (sampleInto(chunk.rows[b]!, logits, b * this.shape.vocab)) chunk.remove(b);
    }
    return results;
  }

  async close(): Promise<void> {
    const open = await Promise.all(this.sessions.values());
    this.sessions.clear();
    for (const session of open) await session.close();
  }

  /** Up to PREFILL_ROWS prompts: logits [rows, vocab] and kv [2·layers·rows, KV, length, hd]. */
  private async prefill(prompts: number[][]): Promise<Prefilled> {
    const rows = prompts.length <= MIN_BATCH ? MIN_BATCH : PREFILL_ROWS;
    const longest = Math.max(...prompts.map((p) => p.length));
    const length = longest <= 256 ? Math.ceil(longest / PREFILL_STEP) * PREFILL_STEP : cacheSlots(longest);
    const ids = new BigInt64Array(rows * length);
    const last = new BigInt64Array(rows);
    prompts.forEach((prompt, b) => {
      for (let t = 0; t < prompt.length; t++) ids[b * length + t] = BigInt(prompt[t]!);
      last[b] = BigInt(b * length + prompt.length - 1);
    });
    const session = await this.session(`prefill ${rows} ${length}`, () => buildPrefillGraph(this.shape, rows, length));
    const feeds = { ids: tensor(ids, [ids.length]), last: tensor(last, [rows]) };
    const out = await session.run({ ...this.weights, ...feeds });
    return { logits: out.logits!.data as Float32Array, kv: out.kv!.data as Float32Array, rows, length };
  }

  /** Feeds each row's latest token, writes its keys and values into the caches, returns the next logits. */
  private async step(chunk: Chunk): Promise<{ logits: Float32Array }> {
    chunk.reserve(chunk.rows.length, Math.max(...chunk.rows.map((row) => row.length)) + 1);
    const session = await this.session(`decode ${chunk.slots}`, () => buildDecodeGraph(this.shape, chunk.slots));
    const out = await session.run({ ...this.weights, ...chunk.feeds() });
    chunk.write(out.kv!.data as Float32Array);
    return { logits: out.logits!.data as Float32Array };
  }

  private session(name: string, build: () => Parameters<typeof encodeModel>[0]): Promise<GraphSession> {
    let session = this.sessions.get(name);
    if (!session) {
      session = GraphSession.open(encodeModel(build()), { threads: this.threads });
      this.sessions.set(name, session);
      session.catch(() => this.sessions.delete(name)); // a retry compiles afresh
    }
    return session;
  }
}

/** Rows with their caches, [capacity, KV, slots, hd] per layer and kind; the first rows.length places are in use. */
class Chunk {
  readonly rows: Row[] = [];
  slots = 0;
  private capacity = 0;
  private caches: Float32Array[] = [];
  private mask = new Float32Array(0);
  private ids = new BigInt64Array(0);
  private positions = new BigInt64Array(0);
  private cached: Record<string, ort.Tensor> | undefined;

  constructor(private readonly c: DecoderConfig) {}

  /** Makes room; what is there is kept. */
  reserve(rows: number, places: number): void {
    const capacity = Math.max(this.capacity, rows, MIN_BATCH);
    const slots = places <= this.slots ? this.slots : cacheSlots(places);
    if (capacity === this.capacity && slots === this.slots) return;
    const { kvHeads: KV, headDim: hd, layers } = this.c;
    const grow = (old: Float32Array, lines: number, from: number, to: number, size: number, fill: number) => {
      const out = new Float32Array(size).fill(fill);
      for (let i = 0; i < lines; i++) out.set(old.subarray(i * from, (i + 1) * from), i * to);
      return out;
    };
    const lines = this.capacity * KV;
    this.caches = Array.from({ length: 2 * layers }, (_, i) =>
      grow(this.caches[i] ?? new Float32Array(0), lines, this.slots * hd, slots * hd, capacity * KV * slots * hd, 0),
    );
    this.mask = grow(this.mask, this.capacity, this.slots, slots, capacity * slots, MASKED);
    this.ids = Object.assign(new BigInt64Array(capacity), this.ids);
    this.positions = Object.assign(new BigInt64Array(capacity), this.positions);
    this.capacity = capacity;
    this.slots = slots;
    this.cached = undefined;
  }

  /** Takes a row in, with its prompt's keys and values: those of row `from` of a prefill. */
  add(row: Row, { kv, rows, length }: Prefilled, from: number): void {
    const { kvHeads: KV, headDim: hd } = this.c;
    const b = this.rows.length;
    this.caches.forEach((cache, i) => {
      for (let h = 0; h < KV; h++) {
        const source = ((i * rows + from) * KV + h) * length * hd;
        cache.set(kv.subarray(source, source + row.length * hd), (b * KV + h) * this.slots * hd);
      }
    });
    this.mask.fill(0, b * this.slots, b * this.slots + row.length);
    this.rows.push(row);
    this.cached = undefined;
  }

  /** The last row takes the place of row b. */
  remove(b: number): void {
    const last = this.rows.length - 1;
    const row = this.rows.pop()!;
    this.cached = undefined;
    if (b === last) return;
    const size = this.c.kvHeads * this.slots * this.c.headDim;
    for (const cache of this.caches) cache.copyWithin(b * size, last * size, (last + 1) * size);
    this.mask.copyWithin(b * this.slots, last * this.slots, (last + 1) * this.slots);
    this.rows[b] = row;
  }

  /** Inputs of the next step, views of the buffers; places beyond the rows hold old, finite values. */
  feeds(): Record<string, ort.Tensor> {
    this.rows.forEach((row, b) => {
      this.ids[b] = BigInt(row.tokens.at(-1)!);
      this.positions[b] = BigInt(row.length);
    });
    if (!this.cached) {
      const { kvHeads: KV, headDim: hd } = this.c;
      const B = Math.max(this.rows.length, MIN_BATCH);
      const { slots } = this;
      this.cached = {
        ids: tensor(this.ids.subarray(0, B), [B]),
        positions: tensor(this.positions.subarray(0, B), [B, 1]),
        mask: tensor(this.mask.subarray(0, B * slots), [B, 1, 1, slots]),
      };
      this.caches.forEach((cache, i) => {
        const view = cache.subarray(0, B * KV * slots * hd);
        this.cached![`${i % 2 === 0 ? 'k' : 'v'}${i >> 1}`] = tensor(view, [B, KV, slots, hd]);
      });
    }
    return this.cached;
  }

  /** Appends the new keys and values [2·layers, B, KV·hd] to the rows. */
  write(kv: Float32Array): void {
    const { kvHeads: KV, headDim: hd } = this.c;
    const B = Math.max(this.rows.length, MIN_BATCH);
    this.caches.forEach((cache, i) => {
      this.rows.forEach((row, b) => {
        for (let h = 0; h < KV; h++) {
          const source = ((i * B + b) * KV + h) * hd;
          cache.set(kv.subarray(source, source + hd), ((b * KV + h) * this.slots + row.length) * hd);
        }
      });
    });
    this.rows.forEach((row, b) => {
      this.mask[b * this.slots + row.length] = 0;
      row.length++;
    });
  }
}

/** Rows of one prompt together, prompts in order of length, in groups that are prefilled at once. */
function groupByPrompt<R extends GenerateRow>(rows: R[]): R[][][] {
  const byPrompt = new Map<string, R[]>();
  for (const row of rows) {
    const key = row.prompt.join();
    byPrompt.set(key, [...(byPrompt.get(key) ?? []), row]);
  }
  const prompts = [...byPrompt.values()].sort((a, b) => a[0]!.prompt.length - b[0]!.prompt.length);
  return Array.from({ length: Math.ceil(prompts.length / PREFILL_ROWS) }, (_, i) =>
    prompts.slice(i * PREFILL_ROWS, (i + 1) * PREFILL_ROWS),
  );
}
