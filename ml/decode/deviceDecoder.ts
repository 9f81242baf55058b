// Generation on one thread with the graphs of stepGraph.ts: weights and caches stay on the device. Like DecodeSession, the
// tokens of a sequence depend on weights, prompt, key and options only.
import { GauntletError } from '../../core/errors.js';
import type { MemoryKind } from '../device/deviceSession.js';
import { readLocated } from '../device/weightLocations.js';
import type { SessionModel } from '../engine/base.js';
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

const SIZES = { rows: 64, steps: 16 }; // rows also decide how a GPU rounds, so they are the same for every batch
const MOST_POSITIONS = 2048; // of a row
const MERGED_PARAMETERS = 1e9; // a second copy of larger models takes more memory than a faster step is worth

export interface DeviceDecoderOptions {
  memory: MemoryKind;
  type: CacheType; // of weights and caches
  rows?: number; // tests have fewer
}

/** Sizes that depend on the model and the run only. */
const positionsOf = (contextLength: number): number => Math.min(contextLength, MOST_POSITIONS);

/** True if an adapter is merged into a copy of the weights. bfloat16 would round its small changes away. */
const merges = (c: DecoderConfig, type: CacheType): boolean =>
  type !== 'bfloat16' && layoutSize(parameterLayout(c)) <= MERGED_PARAMETERS;

/** Bytes on the device: weights, with their copy, and caches. */
export function deviceDecoderBytes(c: DecoderConfig, contextLength: number, type: CacheType): number {
  const caches = cacheShapes(c, SIZES.rows + 1, positionsOf(contextLength)).map(([, dims]) => elements(dims));
  const weights = layoutSize(parameterLayout(c)) * (merges(c, type) ? 2 : 1);
  return bytesOf(type, 1) * (weights + caches.reduce((sum, count) => sum + count, 0));
}

interface Opened {
  weights: DeviceWeights;
  device: BoundDevice;
  rank: number; // of an adapter beside the weights; 0: merged
}

export class DeviceDecoder {
  private opened: Opened | undefined;
  private latest: string | undefined; // digest of the adapter in the weights
  private adapter: IdentifiedAdapter | undefined;
  private readonly positions: number;

  constructor(
    private readonly model: SessionModel,
    private readonly contextLength: number,
    private readonly options: DeviceDecoderOptions,
  ) {
    this.positions = positionsOf(contextLength);
  }

  /** Whether it can generate this; DecodeSession can do everything. Quantized weights stay packed there. */
  canGenerate({ prompt }: GenerateRequest, options: DecodeOptions): boolean {
    const { config, locations } = this.model;
    if (locations && [...locations.values()].some((location) => 'bits' in location)) return false;
    const length = prompt.length + Math.min(options.maxNewTokens, this.contextLength - prompt.length);
    return length <= this.positions && graphSampling(options, config.vocab) !== undefined;
  }

  /** Selects the adapter; undefined: the base. */
  use(adapter: IdentifiedAdapter | undefined): void {
    this.adapter = adapter;
  }

  /** Answers in the order of the requests. It returns no keys and values: a GPU reads a prompt faster than it copies them. */
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
      this.close();
      this.opened = this.open(rank);
    }
    if (this.latest !== adapter?.digest) {
      this.opened!.weights.use(adapter);
      this.latest = adapter?.digest;
    }
    return this.opened!;
  }

  private open(rank: number): Opened {
    const { model, positions } = this;
    const { memory, type, rows = SIZES.rows } = this.options;
    const { config: c } = model;
    const session = { memory, recorded: memory === 'cuda' };
    const weights = new DeviceWeights(c, (name) => this.read(name), {
      session: { memory },
      type,
      adapter: rank === 0 ? 'merged' : { beside: rank },
    });
    try {
      const inputs = { type, ...(rank > 0 && { rank }) };
      const device = new BoundDevice(c, (g) => new FusedWeights(g, c, inputs), {
        ...{ ...SIZES, rows, positions, type, session },
        weights: weights.tensors,
      });
      return { weights, device, rank };
    } catch (error) {
      weights.close();
      throw error;
    }
  }

  private read(name: string): Float32Array | undefined {
    const { weights, locations, config } = this.model;
    if (weights) return weights.get(name)?.data;
    const location = locations.get(name);
    if (location === undefined) return undefined;
    if ('bits' in location) throw new GauntletError('ENGINE_FAULT', `${name} is quantized`);
    const { shape } = parameterLayout(config).find((each) => each.name === name)!;
    return readLocated(location, elements(shape));
  }
}

/** Each request goes to the decoder that can generate it, whatever the other requests are. */
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
