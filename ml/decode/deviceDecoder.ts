// Generation on one thread with the graphs of stepGraph.ts: weights and caches stay on the device. Like DecodeSession, the
// tokens of a sequence depend on weights, prompt, key and options only.
import { BaseWeights } from '../device/baseWeights.js';
import type { MemoryKind } from '../device/deviceSession.js';
import { isQuantized, type SessionModel } from '../engine/base.js';
import type { GenerateRequest } from '../engine/engine.js';
import { bytesOf } from '../ir/op.js';
import type { CacheType } from '../nn/cacheAttention.js';
import type { DecoderConfig } from '../nn/config.js';
import { FusedWeights } from '../nn/fusedWeights.js';
import { elements, type IdentifiedAdapter, layoutSize, parameterLayout } from '../nn/layout.js';
import { BoundDevice } from './boundDevice.js';
import type { DecodeHooks, DecodeOptions, DecodeRequest, DecodeResult, DecodeSession } from './decodeSession.js';
import { DeviceWeights } from './deviceWeights.js';
import { graphSampling } from './sampler.js';
import { Slots } from './slots.js';
import { cacheShapes } from './stepInputs.js';

/** Sequences that step at the same time. Their number decides how a GPU rounds, so it is the same for every batch. */
export const DECODER_ROWS = 64;
const STEPS = 16; // length of a chunk
const MOST_POSITIONS = 2048; // the longest row
const MERGED_PARAMETERS = 1e9; // a second copy of larger models takes more memory than a faster step is worth

export interface DeviceDecoderOptions {
  memory: MemoryKind;
  type: CacheType; // the type of weights and caches
  rows?: number; // default: DECODER_ROWS
  base?: BaseWeights; // shared with training; default: its own
}

const positionsOf = (contextLength: number): number => Math.min(contextLength, MOST_POSITIONS);

/** True if an adapter is merged into a copy of the weights. bfloat16 would round its small changes away. */
const merges = (c: DecoderConfig, type: CacheType): boolean =>
  type !== 'bfloat16' && layoutSize(parameterLayout(c)) <= MERGED_PARAMETERS;

/** Bytes on the device: the weights of the base, and what decoding adds to them, a merged copy and the caches. */
export function deviceDecoderBytes(
  c: DecoderConfig,
  contextLength: number,
  type: CacheType,
  rows = DECODER_ROWS,
): Record<'base' | 'merged' | 'caches', number> {
  const shapes = cacheShapes(c, rows + 1, positionsOf(contextLength));
  const caches = shapes.reduce((sum, [, dims]) => sum + elements(dims), 0);
  const parameters = layoutSize(parameterLayout(c));
  const matrices = parameters - (c.tied ? 1 : 2) * c.vocab * c.hidden;
  return {
    base: bytesOf(type, parameters),
    merged: merges(c, type) ? bytesOf(type, matrices) : 0,
    caches: bytesOf(type, caches),
  };
}

interface Opened {
  weights: DeviceWeights;
  device: BoundDevice;
  rank: number; // the rank of an adapter that stays beside the weights; 0: the adapter is merged
}

export class DeviceDecoder {
  private opened: Opened | undefined;
  private latest: string | undefined; // the digest of the adapter that the weights contain
  private adapter: IdentifiedAdapter | undefined;
  private readonly positions: number;
  private readonly base: BaseWeights | undefined; // undefined: the weights are quantized

  constructor(
    private readonly model: SessionModel,
    private readonly contextLength: number,
    private readonly options: DeviceDecoderOptions,
  ) {
    this.positions = positionsOf(contextLength);
    const { base, memory, type } = options;
    this.base = base ?? (isQuantized(model) ? undefined : new BaseWeights(model, memory, type));
  }

  /** Whether this decoder can answer the request. DecodeSession can generate everything, and keeps quantized weights packed. */
  canGenerate({ prompt }: GenerateRequest, options: DecodeOptions): boolean {
    const { config } = this.model;
    if (!this.base) return false;
    const length = prompt.length + Math.min(options.maxNewTokens, this.contextLength - prompt.length);
    return length <= this.positions && graphSampling(options, config.vocab) !== undefined;
  }

  /** Selects the adapter; undefined: the base. */
  use(adapter: IdentifiedAdapter | undefined): void {
    this.adapter = adapter;
  }

  /** Answers in the order of the requests. Returns no keys and values: a GPU reads a prompt faster than it copies them. */
  async generate(
    requests: readonly GenerateRequest[],
    options: DecodeOptions,
    hooks: DecodeHooks = {},
  ): Promise<DecodeResult> {
    const { device } = this.prepared();
    const { answers, counts } = await new Slots(device, this.contextLength).generate(requests, options, hooks);
    return { answers, counts, caches: requests.map(() => undefined) };
  }

  close(): void {
    this.closeGraphs();
    this.base?.close();
  }

  private closeGraphs(): void {
    this.opened?.device.close();
    this.opened?.weights.close();
    this.opened = undefined;
    this.latest = undefined;
  }

  private prepared(): Opened {
    const { adapter } = this;
    const { config } = this.model;
    const merged = merges(config, this.options.type);
    const rank = merged ? 0 : (adapter?.rank ?? this.opened?.rank ?? 1);
    if (this.opened?.rank !== rank) {
      this.closeGraphs();
      this.opened = this.open(rank);
    }
    if (this.latest !== adapter?.digest) {
      this.opened!.weights.use(adapter);
      this.latest = adapter?.digest;
    }
    return this.opened!;
  }

  private open(rank: number): Opened {
    const { positions } = this;
    const { memory, type, rows = DECODER_ROWS } = this.options;
    const { config: c } = this.model;
    const session = { memory, recorded: memory === 'cuda' };
    const weights = new DeviceWeights(c, this.base!, rank === 0 ? 'merged' : { beside: rank });
    try {
      const inputs = { type, ...(rank > 0 && { rank }) };
      const device = new BoundDevice(c, (g) => new FusedWeights(g, c, inputs), {
        ...{ rows, steps: STEPS, positions, type, session },
        weights: weights.tensors,
      });
      return { weights, device, rank };
    } catch (error) {
      weights.close();
      throw error;
    }
  }
}

/** Passes each request to the decoder that can generate it, whatever the other requests are. */
export async function generateWithBoth(
  device: DeviceDecoder,
  session: DecodeSession,
  requests: readonly DecodeRequest[],
  options: DecodeOptions,
  hooks: DecodeHooks,
  cacheBytes: number,
): Promise<DecodeResult> {
  const isOnDevice = requests.map((request) => device.canGenerate(request, options));
  const [own, others] = [true, false].map((here) => requests.filter((_, i) => isOnDevice[i] === here)) as [
    DecodeRequest[],
    DecodeRequest[],
  ];
  const here = own.length > 0 ? await device.generate(own, options, hooks) : undefined;
  if (here && others.length === 0) return here;
  const there = await session.generate(others, options, hooks, cacheBytes);
  if (here === undefined) return there;
  const next = { here: 0, there: 0 };
  const order = isOnDevice.map((on) => (on ? ([here, next.here++] as const) : ([there, next.there++] as const)));
  const counts = { ...there.counts };
  for (const key of Object.keys(counts) as (keyof typeof counts)[]) counts[key] += here.counts[key];
  return {
    answers: order.map(([from, i]) => from.answers[i]!),
    caches: order.map(([from, i]) => from.caches[i]),
    counts,
  };
}
