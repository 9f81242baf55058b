// The trained sequences of a group, token by token: what the update was given. Log-probs are those of the policy before the
// update; ratios, clipping and entropies of single tokens are not recorded.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TrajectoryList } from '../../activities/artifacts.js';
import { type TokenTurn, trainedRows } from '../../core/rl/trajectories.js';
import { modelOf } from '../../core/schema/config.js';
import type { Trajectory } from '../../core/schema/trajectory.js';
import { isFamily } from '../../data/families.js';
import { shippedModelPath } from '../../data/paths.js';
import { loadTokenizer } from '../../ml/hf/tokenizer.js';
import { kindOfRow, readRecord, unlessLost } from '../../store/memo.js';
import type { Digest, Store } from '../../store/store.js';
import type { TokenRow, TokensView } from '../api.js';
import { chainsOf, groupOf, type Rollouts } from './rollouts.js';

/** @throws GauntletError NOT_FOUND */
export async function readTokens(
  store: Store,
  scored: ScoredRows,
  rollouts: Rollouts,
  index: number,
): Promise<TokensView> {
  const { record, config } = rollouts;
  const one = groupOf(rollouts, index);
  const withLogprobs = await scored.find(record.artifacts.trajectories);
  const rows = await store.getJson<TrajectoryList>(withLogprobs ?? record.artifacts.trajectories);
  // samples of a group may have the same tokens up to the last trained one, and other rewards because of what follows
  const rowOf = new Map(rows.map((row) => [keyOf(row.tokens, row.reward ?? row.advantage), row]));
  const credits = rollouts.advantages_P_G?.[index] ?? rollouts.rewards_P_G[index]!;
  const credit = record.role === 'generator' ? config.credit : 'suffix';
  const decode = decoderOf(modelOf(config, record.role));
  const samples = await samplesOf(store, rollouts, index);
  return {
    hasText: decode !== undefined,
    hasLogprobs: withLogprobs !== undefined,
    samples: samples.map((turns, i) => ({
      sample: record.role === 'generator' ? one.candidates[i]!.sample : i,
      rows: trainedRows(turns, record.stage, credit).map(({ tokens, mask }): TokenRow => {
        const row = rowOf.get(keyOf(tokens, credits[i]!)); // absent: it has no advantage, so it was not trained
        return tokenRow(tokens, mask, withLogprobs === undefined && row ? { ...row, oldLogprobs: [] } : row, decode);
      }),
    })),
  };
}

const keyOf = (tokens: readonly number[], credit: number): string => `${tokens.join()} ${credit}`;

/** The turns of each sample, as they are trained. */
async function samplesOf(store: Store, rollouts: Rollouts, index: number): Promise<(readonly TokenTurn[])[]> {
  const { record, batch } = rollouts;
  const one = groupOf(rollouts, index);
  if (record.role === 'generator') return (await chainsOf(store, rollouts, one, index)).map(({ turns }) => turns);
  return one.turns.map(({ turn }) => [{ ...batch!.turns[turn]!, stage: record.stage }]);
}

type Decode = (token: number) => string;

function tokenRow(tokens: number[], mask: number[], row: Trajectory | undefined, decode: Decode | undefined): TokenRow {
  return {
    ids: tokens,
    ...(decode && { texts: tokens.map(decode) }),
    mask,
    ...(row && {
      advantage: row.advantage,
      ...(row.oldLogprobs.length > 0 && { logprobs: row.oldLogprobs }),
      ...(row.advantages && { advantages: row.advantages }),
      ...(row.referenceLogprobs && { referenceLogprobs: row.referenceLogprobs }),
    }),
  };
}

const decoders = new Map<string, Decode>(); // opening a tokenizer takes a moment

/** Undefined if the tokenizer of the model is not on this machine. */
function decoderOf(model: string): Decode | undefined {
  const open = decoders.get(model);
  if (open) return open;
  const folder = isFamily(model) ? shippedModelPath(model) : model;
  if (!existsSync(join(folder, 'tokenizer.json'))) return undefined;
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

/** Finds trajectories with log-probs. A step records those without; the activity that scored them left a memo row. */
export class ScoredRows {
  private readonly keys = new Map<Digest, string>(); // trajectories → memo row
  private readonly seen = new Set<string>();

  constructor(private readonly store: Store) {}

  /** Undefined if the row was removed from the store. */
  async find(trajectories: Digest): Promise<Digest | undefined> {
    if (!this.keys.has(trajectories)) await this.readNewRows();
    const key = this.keys.get(trajectories);
    if (key === undefined) return undefined;
    return unlessLost(async () => {
      const output = await this.store.getMemo(key);
      const result = output && (await this.store.getJson<{ trajectories: Digest }>(output));
      return result && (await this.store.hasBlob(result.trajectories)) ? result.trajectories : undefined;
    });
  }

  private async readNewRows(): Promise<void> {
    for (const key of await this.store.memoKeys()) {
      if (this.seen.has(key) || kindOfRow(key).kind !== 'result') continue;
      this.seen.add(key);
      const record = await unlessLost(() => readRecord(this.store, key));
      if (record?.name !== 'scoreOldPolicy') continue;
      this.keys.set((record.inputs as { trajectories: Digest }).trajectories, key);
    }
  }
}
