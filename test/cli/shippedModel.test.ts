// The base models as they are shipped: weights, card and conversation format belong together.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Content } from '../../core/prompts/prompts.js';
import { FAMILIES, FAMILY_NAMES, type FamilyName } from '../../data/families.js';
import { shippedModelPath } from '../../data/paths.js';
import { corpusExample, encodeExample } from '../../data/tiny/corpus.js';
import { vocabularyOf } from '../../data/tiny/vocabulary.js';
import { EngineFiles } from '../../ml/engine/engineFiles.js';
import { loadChatFormat } from '../../ml/hf/chat.js';
import { describeModel } from '../../ml/hf/model.js';
import { loadTokenizer } from '../../ml/hf/tokenizer.js';
import { loadModel } from '../support/loadModel.js';

/** A user turn with its markers named. */
const contentOf = (text: string): Content =>
  text.split(/(<(?:gen|disc|s\d|tests)>)/).map((part, i) => (i % 2 === 1 ? { control: part } : part));

/** Ranges in percent. */
const EXPECTED: Record<FamilyName, Record<'flawedChains' | 'flawedTests' | 'passRate', readonly [number, number]>> = {
  tiny: { flawedChains: [35, 45], flawedTests: [15, 20], passRate: [50, 75] },
  nested: { flawedChains: [50, 60], flawedTests: [20, 30], passRate: [45, 60] },
};

for (const family of FAMILY_NAMES) {
  describe(`the shipped base model of ${family}`, () => {
    const folder = shippedModelPath(family);
    const card = readFileSync(join(folder, 'README.md'), 'utf8');
    const corpus = FAMILIES[family].corpus();
    const vocabulary = vocabularyOf(corpus);

    it('is at most 8 MB and has a card with the digest of its weights', () => {
      const bytes = readFileSync(join(folder, 'model.safetensors'));
      assert.ok(bytes.length <= 8_000_000);
      assert.ok(card.includes(createHash('sha256').update(bytes).digest('hex')));
      const model = loadModel(folder);
      assert.ok(card.includes(model.parameters.toLocaleString('en-US')));
      assert.deepEqual(model.eosTokens, [vocabulary.idOf('<eos>')]);
      const chat = new EngineFiles(describeModel(folder)).chat();
      assert.deepEqual(chat.endTokens(), model.eosTokens);
    });

    it('has a card with the share of flawed examples and its pass rates', () => {
      const figures = (pattern: RegExp): number[] => pattern.exec(card)!.slice(1).map(Number);
      const { flawedChains, flawedTests, passRate } = EXPECTED[family];
      const within = (values: number[], [low, high]: readonly [number, number]): void => {
        for (const value of values) assert.ok(value >= low && value <= high, `${value}`);
      };
      within(figures(/flawed chains in the corpus: ([\d.]+) %/), flawedChains);
      within(figures(/flawed tests in the corpus: ([\d.]+) %/), flawedTests);
      within(figures(/pass all hidden tests \| ([\d.]+) % \| ([\d.]+) % \|/), passRate);
    });

    it('was trained on the same tokens that inference builds for a conversation', () => {
      const tokenizer = loadTokenizer(folder);
      const chat = loadChatFormat(folder, tokenizer);
      const train = corpus.filter((problem) => problem.split === 'train');
      for (let i = 0; i < 40; i++) {
        const { turns } = corpusExample(train, { name: 'chat', discriminatorShare: 0.5 }, 0, i);
        const built = turns.flatMap(({ user, assistant }, turn) => [
          ...(turn === 0
            ? chat.openingTokens([{ role: 'user', content: contentOf(user) }])
            : chat.continuationTokens(contentOf(user), vocabulary.idOf('<eos>'))),
          ...tokenizer.encode(assistant),
          vocabulary.idOf('<eos>'),
        ]);
        assert.deepEqual(built, encodeExample(vocabulary, turns).tokens);
      }
    });
  });
}
