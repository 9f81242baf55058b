// The shipped base models: their weights, cards and conversation formats belong together.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { shippedModelPath } from '../../data/paths.js';
import { EngineFiles } from '../../ml/engine/engineFiles.js';
import { describeModel } from '../../ml/hf/model.js';
import { loadTokenizer } from '../../ml/hf/tokenizer.js';
import { loadModel } from '../support/loadModel.js';

/** The allowed ranges in percent. */
const EXPECTED = {
  tiny: { flawedChains: [35, 45], flawedTests: [15, 20], passRate: [50, 75] },
  nested: { flawedChains: [50, 60], flawedTests: [20, 30], passRate: [45, 60] },
};

for (const family of ['tiny', 'nested'] as const) {
  describe(`the shipped base model of ${family}`, () => {
    const folder = shippedModelPath(family);
    const card = readFileSync(join(folder, 'README.md'), 'utf8');

    it('has at most 8 MB and a card with the digest of its weights', () => {
      const bytes = readFileSync(join(folder, 'model.safetensors'));
      assert.ok(bytes.length <= 8_000_000);
      assert.ok(card.includes(createHash('sha256').update(bytes).digest('hex')));
      const model = loadModel(folder);
      assert.ok(card.includes(model.parameters.toLocaleString('en-US')));
      assert.deepEqual(model.eosTokens, loadTokenizer(folder).encode('<eos>'));
      const chat = new EngineFiles(describeModel(folder)).chat();
      assert.deepEqual(chat.endTokens(), model.eosTokens);
    });

    it('has a card with the share of flawed examples and its pass rates', () => {
      const figures = (pattern: RegExp): number[] => pattern.exec(card)!.slice(1).map(Number);
      const { flawedChains, flawedTests, passRate } = EXPECTED[family];
      const within = (values: number[], [low, high]: number[]): void => {
        for (const value of values) assert.ok(value >= low! && value <= high!, `${value}`);
      };
      within(figures(/flawed chains in the corpus: ([\d.]+) %/), flawedChains);
      within(figures(/flawed tests in the corpus: ([\d.]+) %/), flawedTests);
      within(figures(/pass all hidden tests \| ([\d.]+) % \| ([\d.]+) % \|/), passRate);
    });
  });
}
