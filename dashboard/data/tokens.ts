// Reads the trained sequences of a group, token by token: the inputs of the update, and the ratios that it computed. Log-probs
// and entropies were computed by the policy before the update.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TokenTurn, trainedRows } from '../../core/rl/trajectories.js';
import { modelOf } from '../../core/schema/config.js';
import type { PolicyStats, TokenNumbers, Trajectory } from '../../core/schema/trajectory.js';
import { localModelFolder } from '../../data/modelFolder.js';
import type { ScoreOldPolicyOutput, UpdatePolicyOutput } from '../../method/train.js';
import { ggufFolder } from '../../ml/gguf/folder.js';
import { loadTokenizer } from '../../ml/hf/tokenizer.js';
import { digestJson, parseJson } from '../../store/canonicalJson.js';
import { inParallel } from '../../store/inParallel.js';
import { inspectBlob, inspectMemo, listMemos } from '../../store/inventory.js';
import { kindOfRow, type MemoRecord, memoRecordSchema, recordKey, unlessLost } from '../../store/memo.js';
import type { ObjectStore } from '../../store/objectStore.js';
import type { Digest, Ref, Store } from '../../store/store.js';
import type { TokenRow, TokensView } from '../api.js';
import { chainsOf, groupOf, type Rollouts } from './rollouts.js';

/** @throws GauntletError NOT_FOUND */
export async function readTokens(
  store: Store,
  scored: ScoredRows,
  rollouts: Rollouts,
  index: number,
  recordedAt: number, // the time when the step was recorded
): Promise<TokensView> {
  const { record, config } = rollouts;
  const one = groupOf(rollouts, index);
  const { trajectories: withLogprobs, entropies } =
    (await scored.find(record.artifacts.trajectories, recordedAt)) ?? {};
  const rows = await store.getJson(withLogprobs ?? record.artifacts.trajectories);
  const entropies_P_T = entropies === undefined ? undefined : await store.getJson(entropies);
  const ratios = withLogprobs && (await scored.ratios(withLogprobs, record.update, recordedAt));
  const { clip, clipHigh } = config.ppo;
  const range: [number, number] = [1 - clip, 1 + (clipHigh ?? clip)];
  const credits = rollouts.advantages_P_G[index]!;
  const credit = record.role === 'generator' ? config.credit : 'suffix';
  const decode = await decoderOf(modelOf(config, record.role));
  const samples = (await samplesOf(store, rollouts, index)).map((turns, i) =>
    trainedRows(turns, record.stage, credit).map((row) => ({ ...row, key: keyOf(row.tokens, credits[i]!) })),
  );
  const places = placesOf(
    rows.map((row) => keyOf(row.tokens, row.advantage)),
    samples.flat().map(({ key }) => key),
  );
  return {
    hasText: decode !== undefined,
    hasLogprobs: withLogprobs !== undefined,
    clip: ratios === undefined ? undefined : range,
    samples: samples.map((own, i) => ({
      sample: record.role === 'generator' ? one.candidates[i]!.sample : i,
      rows: own.map(({ tokens, mask }): TokenRow => {
        const place = places.shift();
        const row = place === undefined ? undefined : rows[place]; // undefined if the sequence was not trained
        return {
          ids: tokens,
          texts: decode && tokens.map(decode),
          mask,
          ...(row && creditOf(row, withLogprobs !== undefined)),
          ...(row && entropies_P_T && { entropies: spread(row, entropies_P_T[place!] ?? []) }),
          ...(row && ratios && ratiosOf(row, ratios[place!] ?? [], range)),
        };
      }),
    })),
  };
}

/** The key includes the credit, because samples with equal tokens up to the last trained one may continue in different ways. */
const keyOf = (tokens: readonly number[], credit: number): string => `${tokens.join()} ${credit}`;

/**
 * The places of a group's rows among all trained rows of a step, which are sorted by group and sample. The place of a row
 * that was not trained is undefined.
 */
function placesOf(all: readonly string[], own: readonly string[]): (number | undefined)[] {
  const known = new Set(all);
  const kept = own.filter((key) => known.has(key));
  const start = all.findIndex((_, at) => kept.every((key, i) => all[at + i] === key));
  let next = start;
  return own.map((key) => (known.has(key) ? (start < 0 ? all.indexOf(key) : next++) : undefined));
}

/** The turns of each sample that are trained together. */
async function samplesOf(store: Store, rollouts: Rollouts, index: number): Promise<(readonly TokenTurn[])[]> {
  const { record, batch } = rollouts;
  const one = groupOf(rollouts, index);
  if (record.role === 'generator') return (await chainsOf(store, rollouts, one, index)).map(({ turns }) => turns);
  return one.turns.map(({ turn }) => [{ ...batch!.turns[turn]!, stage: record.stage }]);
}

type Decode = (token: number) => string;

const creditOf = (row: Trajectory, hasLogprobs: boolean): Partial<TokenRow> => ({
  advantage: row.advantage,
  ...(hasLogprobs && { logprobs: row.oldLogprobs }),
  advantages: row.advantages,
  referenceLogprobs: row.referenceLogprobs,
});

/** Aligns the numbers of the trained tokens with all tokens. Other tokens get 0. */
function spread({ mask }: Trajectory, trained: readonly number[]): number[] {
  let next = 0;
  return mask.map((bit) => (bit === 0 ? 0 : (trained[next++] ?? 0)));
}

function ratiosOf(row: Trajectory, trained: readonly number[], range: readonly [number, number]): Partial<TokenRow> {
  const ratios = spread(row, trained);
  const clipped = ratios.map((ratio, t) =>
    Number(row.mask[t] !== 0 && isClipped(ratio, row.advantages?.[t] ?? row.advantage, range)),
  );
  return { ratios, clipped };
}

/**
 * Whether min(r·A, clip(r)·A) is constant at this ratio r (Schulman et al. 2017, eq. 7). This is so if r has left the range
 * on the side to which the advantage A moves it. On the other side the gradient remains.
 */
const isClipped = (ratio: number, advantage: number, [low, high]: readonly [number, number]): boolean =>
  advantage > 0 ? ratio > high : advantage < 0 && ratio < low;

const decoders = new Map<string, Decode>(); // kept because opening a tokenizer is slow

/** Opens the tokenizer of a model. Undefined if it is not on this machine. */
async function decoderOf(model: string): Promise<Decode | undefined> {
  const open = decoders.get(model);
  if (open) return open;
  const found = localModelFolder(model);
  const folder = found && (await ggufFolder(found));
  if (folder === undefined || !existsSync(join(folder, 'tokenizer.json'))) return undefined;
  const tokenizer = loadTokenizer(folder);
  const known = new Map<number, string>();
  const decode: Decode = (token) => {
    const text = known.get(token) ?? tokenizer.decode([token]);
    known.set(token, text);
    return text;
  };
  decoders.set(model, decode);
  return decode;
}

const ROWS = 64; // the number of memo rows that are read at a time

/**
 * Finds the trajectories with log-probs of a step, and the ratios of its update. The record of a step names neither, but the
 * activities that computed them left memo rows. A store has thousands of rows, and those of a step are written shortly
 * before its record. So rows that were written near `at`, the time of the record, are read first.
 */
export class ScoredRows {
  private readonly keys = new Map<Digest, string>(); // trajectories → memo row
  private readonly updates = new Map<Digest, string[]>(); // trajectories with log-probs → memo rows
  private readonly unread = new Map<string, number>(); // memo row → the time of its last use
  private readonly seen = new Set<string>();
  private reading: Promise<boolean> | undefined;

  constructor(private readonly store: ObjectStore) {}

  /** Undefined if the memo row was removed from the store. Entropies are absent if nothing was trained. */
  async find(
    trajectories: Ref<Trajectory[]>,
    at: number,
  ): Promise<Pick<ScoreOldPolicyOutput, 'trajectories' | 'entropies'> | undefined> {
    if (!this.keys.has(trajectories)) await this.listNewRows();
    while (!this.keys.has(trajectories) && (await this.readMore(at)));
    const key = this.keys.get(trajectories);
    if (key === undefined) return undefined;
    return unlessLost(async () => {
      const output: Ref<ScoreOldPolicyOutput> | undefined = await this.store.getMemo(key);
      const result = output && (await this.store.getJson(output));
      if (!result || !(await this.store.hasBlob(result.trajectories))) return undefined;
      const { trajectories: withLogprobs, entropies } = result;
      const hasEntropies = entropies !== undefined && (await this.store.hasBlob(entropies));
      return { trajectories: withLogprobs, ...(hasEntropies && { entropies }) };
    });
  }

  /** Undefined if the store has no ratios. `stats` distinguish updates with the same trajectories. */
  async ratios(trajectories: Ref<Trajectory[]>, stats: PolicyStats, at: number): Promise<TokenNumbers | undefined> {
    const tried = new Set<string>();
    do {
      for (const key of this.updates.get(trajectories) ?? []) {
        if (tried.has(key)) continue;
        tried.add(key);
        const found = await unlessLost(async () => {
          const output: Ref<UpdatePolicyOutput> | undefined = await this.store.getMemo(key);
          const result = output && (await this.store.getJson(output));
          if (!result || digestJson(result.stats) !== digestJson(stats) || result.ratios === undefined)
            return undefined;
          return (await this.store.hasBlob(result.ratios)) ? this.store.getJson(result.ratios) : undefined;
        });
        if (found !== undefined) return found;
      }
    } while (await this.readMore(at));
    return undefined;
  }

  private async listNewRows(): Promise<void> {
    for (const { name, usedAt } of await listMemos(this.store)) {
      if (this.seen.has(name) || kindOfRow(name).kind !== 'result') continue;
      this.seen.add(name);
      this.unread.set(name, usedAt);
    }
  }

  /** Concurrent calls share the work. Returns false if no row is left. */
  private readMore(at: number): Promise<boolean> {
    this.reading ??= this.readSome(at).finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  private async readSome(at: number): Promise<boolean> {
    const nearest = [...this.unread].sort(([, a], [, b]) => Math.abs(a - at) - Math.abs(b - at)).slice(0, ROWS);
    await inParallel(nearest, async ([key]) => {
      const record = await this.inspect(key);
      this.unread.delete(key);
      if (record?.name !== 'scoreOldPolicy' && record?.name !== 'updatePolicy') return;
      const { trajectories } = record.inputs as { trajectories: Digest };
      if (record.name === 'scoreOldPolicy') this.keys.set(trajectories, key);
      else this.updates.set(trajectories, [...(this.updates.get(trajectories) ?? []), key]);
    });
    return nearest.length > 0;
  }

  /** Reads the record of a row without marking the row as used. */
  private async inspect(key: string): Promise<MemoRecord | undefined> {
    const row = await inspectMemo(this.store, recordKey(key));
    const bytes = typeof row === 'string' ? row : await inspectBlob(this.store, row.digest);
    return typeof bytes === 'string' ? undefined : memoRecordSchema.safeParse(parseJson(bytes)).data;
  }
}
