// Tests that shards give the bits of the whole, for a small model in memory and for one that is large enough to share rows.
import assert from 'node:assert/strict';
import { shardsOf } from '../../../core/run/shards.js';
import type { TokenScores } from '../../../core/schema/trajectory.js';
import type { Adapter, Engine } from '../../../ml/engine/engine.js';
import { openEngine } from '../../../ml/engine/ortEngine.js';
import { planRows } from '../../../ml/train/branches.js';
import { temporaryFolder } from '../../infra/support.js';
import { randomAdapter, randomRows, writeSmallModel } from '../../support/smallModel.js';

const LOSS = { clip: 0.2, temperature: 0.9, entropyBonus: 0.01 };
const LARGE_VOCABULARY = 520_000; // it has more than 32 M parameters

/** Two samples for each of nine problems: they share a prompt of 10 tokens, and their answers have different lengths. */
function samples() {
  const rows = randomRows(Array.from({ length: 18 }, (_, i) => 18 + ((i * 7) % 30)));
  return rows.map((row, i) => {
    const tokens = [...rows[i - (i % 2)]!.tokens.slice(0, 16), ...row.tokens.slice(16)];
    return { ...row, tokens, mask: tokens.map((_, t) => (t > 15 ? 1 : 0)) };
  });
}

for (const [name, vocab, counts] of [
  ['a small model', undefined, [1, 2, 7]],
  ['a large model', LARGE_VOCABULARY, [3]],
] as const)
  describe(`shards of ${name}`, () => {
    const rows = samples();
    let folder: string;
    let engine: Engine;
    let adapter: Adapter;

    before(async () => {
      folder = temporaryFolder();
      const model = writeSmallModel(folder, { ...(vocab && { vocab }) });
      engine = await openEngine(folder);
      adapter = randomAdapter(model);
      const joined = planRows(rows);
      assert.ok(joined.length < rows.length, 'some rows have several sequences');
    });
    after(async () => {
      await engine?.close();
    });

    for (const count of counts) {
      it(`give the scores of the whole minibatch: ${count} shards`, async () => {
        const expected = await engine.scores(rows, { adapter, temperature: 0.9 });
        const parts = await Promise.all(
          shardsOf(count).map((shard) => engine.scoreShard(rows, { adapter, temperature: 0.9, shard })),
        );
        const ofTrained = ({ logprobs, entropies }: TokenScores, i: number): number[][] =>
          rows[i]!.mask.flatMap((bit, t) => (bit ? [[logprobs[t]!, entropies[t]!]] : []));
        const owners = rows.map((_, i) => parts.filter((part) => part[i] !== null));
        assert.ok(owners.every((own) => own.length === 1));
        assert.deepEqual(
          rows.map((_, i) => ofTrained(owners[i]![0]![i]!, i)),
          expected.map(ofTrained),
        );
      });

      it(`give the gradients of the whole minibatch: ${count} shards`, async () => {
        const options = { adapter, loss: LOSS };
        const expected = await engine.gradients(rows, options);
        assert.ok(expected.gradients.some((value) => value !== 0));
        const parts = await Promise.all(
          shardsOf(count).map((shard) => engine.gradientShard(rows, { ...options, shard })),
        );
        assert.deepEqual(engine.sumGradients(rows, options, parts.reverse().flat()), expected);
      });
    }
  });
