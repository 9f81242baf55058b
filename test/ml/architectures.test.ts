// Every architecture against transformers and peft (recorded by parity/record_architectures.py from checkpoints that they
// saved themselves): log-probs, greedy tokens, adapters, rotary tables.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { DecodeSession } from '../../ml/decode/decodeSession.js';
import { locateWeights } from '../../ml/device/weightLocations.js';
import type { Engine, GenerateRequest } from '../../ml/engine/engine.js';
import { openEngine } from '../../ml/engine/ortEngine.js';
import { describeModel } from '../../ml/hf/model.js';
import { readAdapterFolder } from '../../ml/hf/peft.js';
import { ropeTables } from '../../ml/nn/rope.js';
import { TrainSession } from '../../ml/train/trainSession.js';

const FOLDER = process.env.GAUNTLET_ARCHITECTURES ?? join(ROOT, 'test', 'ml', 'parity', 'architectures');
const TOLERANCE = 1e-4; // the largest difference of a log-prob
const GREEDY = { maxNewTokens: 40, temperature: 0, stopTokens: [] };

interface Row {
  prompt: number[];
  tokens: number[];
  logprobs: number[]; // one for each token of prompt and answer except the first
  tuned?: number[]; // the log-probs under the adapter
}
interface Rope {
  headDim: number;
  parameters: Record<string, number>;
  positions: number[];
  cos: number[][];
  sin: number[][];
}
const read = (...path: string[]) => JSON.parse(readFileSync(join(FOLDER, ...path), 'utf8'));

/** The largest difference of a log-prob. Ours have one entry more, for the first token. */
function worst(ours: number[][], theirs: readonly number[][]): number {
  const gaps = theirs.flatMap((row, r) => {
    assert.equal(ours[r]!.length, row.length + 1);
    return row.map((x, t) => Math.abs(x - ours[r]![t + 1]!));
  });
  return Math.max(...gaps);
}

const checkpoints = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());

describe('architectures', () => {
  it('have recordings with tied and untied embeddings, in three dtypes, in one file and in shards, for all head sizes', () => {
    assert.equal(checkpoints.length, 9);
  });

  for (const { name } of checkpoints) {
    describe(name, () => {
      const { rows } = read(name, 'expected.json') as { rows: Row[] };
      const tuned = rows.filter((row) => row.tuned);
      const whole = (some: Row[]) => some.map((row) => ({ tokens: [...row.prompt, ...row.tokens] }));
      const requests = rows.map(({ prompt }): GenerateRequest => ({ prompt, key: [0, 0] }));
      let engine: Engine;
      before(async () => {
        engine = await openEngine(join(FOLDER, name), { workers: 1 });
      });
      after(() => engine.close());

      it('log-probs equal those of transformers, with weights in memory and mapped', async () => {
        const { config, stored } = describeModel(join(FOLDER, name));
        const mapped = new TrainSession({ config, locations: locateWeights(stored) });
        const theirs = rows.map((row) => row.logprobs);
        const gaps = [
          worst(await engine.logprobs(whole(rows), { temperature: 1 }), theirs),
          worst(await mapped.score(whole(rows), undefined, 1), theirs),
        ];
        await mapped.close();
        assert.ok(Math.max(...gaps) < TOLERANCE, `${gaps}`);
      });

      it('greedy tokens equal those of transformers', async () => {
        const ours = await engine.generate(requests, GREEDY);
        assert.deepEqual(
          ours.map((answer) => answer.tokens),
          rows.map((row) => row.tokens),
        );
      });

      it('greedy tokens equal those of transformers with mapped weights', async () => {
        const { config, stored } = describeModel(join(FOLDER, name));
        const session = new DecodeSession({ config, locations: locateWeights(stored) }, config.contextLength);
        const { answers } = await session.generate(requests, GREEDY);
        await session.close();
        assert.deepEqual(
          answers.map(({ tokens }) => tokens),
          rows.map(({ tokens }) => tokens),
        );
      });

      it("an adapter that peft saved gives peft's log-probs", async () => {
        const adapter = engine.importAdapter(readAdapterFolder(join(FOLDER, name, 'adapter')));
        assert.deepEqual([adapter.rank, adapter.alpha], [3, 5]);
        const theirs = tuned.map((row) => row.tuned!);
        const gap = worst(await engine.logprobs(whole(tuned), { adapter, temperature: 1 }), theirs);
        assert.ok(gap < TOLERANCE, `${gap}`);
        const base = await engine.logprobs(whole(tuned), { temperature: 1 });
        assert.ok(worst(base, theirs) > 0.1, 'the adapter changes nothing');
      });
    });
  }

  it('rotary tables equal those of transformers, plain and with Llama 3 scaling, up to position 4095', () => {
    for (const { headDim, parameters, positions, cos, sin } of read('rope.json') as Rope[]) {
      const { factor, low_freq_factor: lowFreqFactor, high_freq_factor: highFreqFactor, ...rest } = parameters;
      const originalContext = rest.original_max_position_embeddings;
      const scaled = { factor, lowFreqFactor, highFreqFactor, originalContext } as Record<string, number>;
      const config = { headDim, ropeTheta: parameters.rope_theta!, ...(factor && { ropeScaling: scaled as never }) };
      const tables = ropeTables(config, positions.at(-1)! + 1);
      for (const [table, expected] of [
        [tables.cos, cos],
        [tables.sin, sin],
      ] as const)
        expected.forEach((row, i) => {
          row.forEach((x, k) => {
            const ours = table[(positions[i]! * headDim) / 2 + k]!;
            assert.ok(
              Math.abs(ours - x) < 1e-6,
              `head ${headDim}, position ${positions[i]}, ${k}: ${ours} is not ${x}`,
            );
          });
        });
    }
  });
});
