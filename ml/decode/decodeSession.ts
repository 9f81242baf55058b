// Generation on one thread. Rows step together and leave as they finish; prompts are read in between. A row's tokens
// depend on weights, prompt, key and options only, not on who is beside it: see decodeGraph.ts.
import { uniformAt } from '../../core/random.js';
import { GraphSession, type Tensor, tensor } from '../device/runtime.js';
import type { SessionModel } from '../engine/base.js';
import type { Adapter, GenerateCounts, Generated, GenerateRow } from '../engine/engine.js';
import type { DecoderConfig } from '../nn/config.js';
import { buildDecodeGraph, buildStepGraph, type Choice, rotatesApart } from '../nn/decodeGraph.js';
import { parameterLayout } from '../nn/decoder.js';
import { JOINED, JoinedWeights, joinWeights, PlannedWeights } from '../nn/decodeWeights.js';
import { layoutSize, loraLayout, viewsOf } from '../nn/lora.js';
import { mergeLora } from '../nn/mergeLora.js';
import type { ParameterPlan } from '../nn/parameters.js';
import { encodeModel } from '../onnx/encode.js';
import { DecodeBatch, type KeptCache, type PromptGroup, promptGroups, promptSegmentAt } from './decodeBatch.js';
import { choiceOf, Sampler, type SamplingOptions } from './sampler.js';
import { segmentsOf } from './segments.js';

export interface DecodeOptions extends SamplingOptions {
  maxNewTokens: number;
  stopTokens: readonly number[];
  logprobs?: boolean;
}

export interface DecodeHooks {
  /** Called before every run of the model; throws to stop. */
  check?: () => void;
  /** Tokens that were sampled since the last call. */
  onTokens?: (count: number) => void;
}

export interface DecodeRow extends GenerateRow {
  kept?: KeptCache; // of its first tokens, as a session of the same weights filled them
}

export interface DecodeResult {
  answers: Generated[];
  kept: (KeptCache | undefined)[]; // per row, where asked for and where there is something
  counts: GenerateCounts;
}

export interface UsedAdapter extends Adapter {
  digest: string; // equal digests mean equal values
}

interface LoraShape {
  rank: number;
  alpha: number;
}
/** Open graphs, of prompts and of steps: of a large model one does both. */
interface Graphs {
  prompts: GraphSession;
  steps: GraphSession;
}
interface Opened extends Graphs {
  /** Inputs that are the same in every run. */
  fixed: Record<string, Tensor>;
}

const JOINED_BYTES = 64e6; // of weights that stay open for adapters that take turns
/** Models of more parameters stay in their files as they are, and are not unpacked once and for all. */
export const UNFOLDED_PARAMETERS = 2e9;

export class DecodeSession {
  private readonly sessions = new Map<string, Promise<Graphs>>();
  private readonly mostSessions: number;
  private adapter: UsedAdapter | undefined;
  private readonly sampler: Sampler;
  private readonly leastRows: number;

  constructor(
    private readonly model: SessionModel,
    private readonly contextLength: number,
    private threads = 1,
  ) {
    this.sampler = new Sampler(model.config.vocab);
    this.leastRows = model.plan ? 2 : 1; // a row alone rounds differently, but for joined weights
    // as they are, and as the kernels of each graph want them
    const joined = 12 * layoutSize(parameterLayout(model.config));
    this.mostSessions = model.plan ? 1 : Math.max(1, Math.floor(JOINED_BYTES / joined));
  }

  /** What is decoded with from now on; without an adapter the base. `threads` never show in a result. */
  use(adapter: UsedAdapter | undefined, threads = this.threads): void {
    this.adapter = adapter;
    this.threads = threads;
  }

  /**
   * Answers in the order of the rows. A prompt that leaves no room in the context gets an empty, unfinished answer.
   * @param keep give back the rows' keys and values, for prompts that go on with their tokens
   */
  async generate(
    rows: readonly DecodeRow[],
    options: DecodeOptions,
    hooks: DecodeHooks = {},
    keep = false,
  ): Promise<DecodeResult> {
    const counts: GenerateCounts = { prefilled: 0, replayed: 0, reused: 0, sampled: 0 };
    const answers = rows.map((): Generated => ({ tokens: [], finished: false }));
    const logprobs = rows.map((): number[] => []);
    const kept = rows.map((): KeptCache | undefined => undefined);
    const limitOf = (prompt: readonly number[]): number =>
      Math.min(options.maxNewTokens, this.contextLength - prompt.length);
    const able = [...rows.entries()].filter(([, { prompt }]) => limitOf(prompt) > 0);
    if (able.length === 0) return { answers, kept, counts };

    const opened = await this.session(choiceOf(options));
    const batch = new DecodeBatch(this.model.config, able.length, this.leastRows, opened.steps !== opened.prompts);
    for (const [index, { key, prompt, sampled, kept: known }] of able) {
      const segments = segmentsOf(prompt.length, sampled);
      const row = { index, key, tokens: [...prompt], prompt: prompt.length, segments, filled: 0 };
      batch.add({ ...row, limit: limitOf(prompt) }, known);
      counts.reused += known?.length ?? 0;
    }
    while (batch.rows.length > 0) {
      for (let groups = promptGroups(batch.rows); groups.length > 0; groups = promptGroups(batch.rows)) {
        for (const group of groups) {
          hooks.check?.();
          counts.prefilled += await this.readPrompts(opened, batch, group);
        }
      }
      hooks.check?.();
      const next = await this.step(opened, batch, options);
      let sampled = 0;
      for (let b = batch.rows.length - 1; b >= 0; b--) {
        const row = batch.rows[b]!;
        if (row.filled < row.tokens.length) {
          counts.replayed++; // what follows is known
          continue;
        }
        const made = row.tokens.length - row.prompt;
        const { token, logprob } = this.sampler.sample(next, b, options, uniformAt(row.key, made), row.tokens);
        row.tokens.push(token);
        logprobs[row.index]!.push(logprob);
        sampled++;
        const finished = options.stopTokens.includes(token);
        if (!finished && made + 1 < row.limit) continue;
        const answer = { tokens: row.tokens.slice(row.prompt), finished };
        answers[row.index] = options.logprobs ? { ...answer, logprobs: logprobs[row.index]! } : answer;
        if (keep) kept[row.index] = batch.keep(b);
        batch.remove(b);
      }
      counts.sampled += sampled;
      hooks.onTokens?.(sampled);
    }
    return { answers, kept, counts };
  }

  async close(): Promise<void> {
    await this.closeBut(0);
  }

  /** Reads a segment of some rows, all as long; of rows that begin alike one is read. @returns tokens read */
  private async readPrompts(opened: Opened, batch: DecodeBatch, group: PromptGroup): Promise<number> {
    const { config } = this.model;
    const firsts = group.map((same) => batch.rows[same[0]!]!);
    const { from, to } = promptSegmentAt(firsts[0]!)!;
    batch.reserve(to);
    const rows = firsts.length;
    const length = Math.max(2, to - from); // a token by itself would be a step, and round as one
    const ids = new BigInt64Array(rows * length);
    const places = new BigInt64Array(rows * config.kvHeads * (to - from) * 3);
    let at = 0;
    firsts.forEach(({ tokens }, b) => {
      for (let t = from; t < to; t++) ids[b * length + t - from] = BigInt(tokens[t]!);
      for (let h = 0; h < config.kvHeads; h++)
        for (let t = from; t < to; t++) {
          places[at++] = BigInt(b);
          places[at++] = BigInt(h);
          places[at++] = BigInt(t);
        }
    });
    const only = group[0]![0]!;
    const out = await opened.prompts.run({
      ...opened.fixed,
      ...(from === 0 ? batch.caches.empty(rows) : batch.caches.feeds(only, only + 1)),
      ids: tensor(ids, [ids.length]),
      batch: tensor(BigInt64Array.of(BigInt(rows), BigInt(length), -1n), [3]),
      length: tensor(new Int32Array(rows).fill(from + length - 1), [rows]),
      longest: tensor(Int32Array.of(from + length), []),
      places: tensor(places, [places.length / 3, 3]),
      last: tensor(new BigInt64Array(0), [0]),
      ...(rotatesApart(config) && {
        positions: tensor(
          ids.map((_, i) => BigInt(from + (i % length))),
          [ids.length, 1],
        ),
      }),
    });
    const kv = out.kv!.data as Float32Array;
    group.forEach((same, g) => {
      for (const b of same) {
        batch.caches.write(b, from, to - from, kv, rows, g);
        batch.rows[b]!.filled = to;
      }
    });
    return rows * (to - from);
  }

  /** Feeds every row the token at its first free place. @returns what there is to know of the next ones */
  private async step({ steps, fixed }: Opened, batch: DecodeBatch, { temperature }: DecodeOptions) {
    if (fixed.scale) (fixed.scale.data as Float32Array)[0] = 1 / temperature;
    const out = await steps.run({ ...fixed, ...batch.feeds() });
    batch.write(out.kv!.data as Float32Array);
    return out.next!.data as Float32Array | BigInt64Array;
  }

  /** The graph over the weights in use. Joined ones are prepared for every adapter; others take an adapter as input. */
  private async session(choice: Choice): Promise<Opened> {
    const { adapter, model } = this;
    const lora = model.plan && adapter ? { rank: adapter.rank, alpha: adapter.alpha } : undefined;
    const name = [choice, this.threads, ...(model.plan ? [lora?.rank, lora?.alpha] : [adapter?.digest])].join(' ');
    let session = this.sessions.get(name);
    if (session) this.sessions.delete(name);
    else {
      await this.closeBut(this.mostSessions - 1);
      session = this.open(choice, lora);
      session.catch(() => this.sessions.delete(name)); // a retry opens it afresh
    }
    this.sessions.set(name, session); // behind those used less recently
    const fixed: Record<string, Tensor> = {};
    if (choice === 'probabilities') fixed.scale = tensor(new Float32Array(1), [1]);
    if (lora) {
      const layout = loraLayout(model.config, lora.rank);
      const values = adapter!.values.subarray(0, layoutSize(layout)); // a value head lies behind
      for (const [key, { data, shape }] of viewsOf(layout, values)) fixed[key] = tensor(data, shape);
    }
    return { ...(await session), fixed };
  }

  private async open(choice: Choice, lora: LoraShape | undefined): Promise<Graphs> {
    const { config, plan } = this.model;
    const options = { positions: this.contextLength, choice };
    if (plan) {
      const graph = buildDecodeGraph(config, (g) => new PlannedWeights(g, config, plan, lora), options);
      const session = await GraphSession.open(encodeModel(graph), {
        threads: this.threads,
        weights: keeping(config, plan),
      });
      return { prompts: session, steps: session };
    }
    const { weights } = this.model;
    const data = joinWeights(config, this.adapter ? mergeLora(config, weights, this.adapter) : weights);
    const open = (build: typeof buildStepGraph): Promise<GraphSession> => {
      const graph = build(config, (g) => new JoinedWeights(g, config), options);
      return GraphSession.open(encodeModel(graph), { threads: this.threads, memory: { location: JOINED, data } });
    };
    return { prompts: await open(buildDecodeGraph), steps: await open(buildStepGraph) };
  }

  private async closeBut(count: number): Promise<void> {
    for (const [name, session] of [...this.sessions].slice(0, Math.max(0, this.sessions.size - count))) {
      this.sessions.delete(name);
      const { prompts, steps } = await session;
      for (const graph of new Set([prompts, steps])) await graph.close();
    }
  }
}

/** How the runtime treats weights that lie in files: a rule on the model alone, since it shows in the last bits. */
function keeping(config: DecoderConfig, plan: ParameterPlan): 'mapped' | 'packed' | 'unfolded' {
  if ([...plan.values()].some((tensor) => 'bits' in tensor)) return 'packed';
  return layoutSize(parameterLayout(config)) <= UNFOLDED_PARAMETERS ? 'unfolded' : 'mapped';
}
