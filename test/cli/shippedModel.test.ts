// The embedded model as it is shipped: weights, card and conversation format belong together.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Content } from '../../core/prompts/prompts.js';
import { shippedModelPath } from '../../data/paths.js';
import { corpusExample, encodeExample } from '../../data/tiny/corpus.js';
import { tinyCorpus } from '../../data/tiny/corpusProblems.js';
import { vocabularyOf } from '../../data/tiny/vocabulary.js';
import { loadChatFormat } from '../../ml/hf/chat.js';
import { loadModel } from '../../ml/hf/model.js';
import { loadTokenizer } from '../../ml/hf/tokenizer.js';

const folder = shippedModelPath('tiny');

describe('the shipped base model', () => {
  it('is at most 8 MB and has a card with the digest of its weights', () => {
    const bytes = readFileSync(join(folder, 'model.safetensors'));
    const card = readFileSync(join(folder, 'README.md'), 'utf8');
    assert.ok(bytes.length <= 8_000_000);
    assert.ok(card.includes(createHash('sha256').update(bytes).digest('hex')));
    const model = loadModel(folder);
    assert.ok(card.includes(model.parameters.toLocaleString('en-US')));
    assert.deepEqual(model.eosTokens, [vocabularyOf(tinyCorpus()).idOf('<eos>')]);
  });

  it('has a card with the share of flawed examples and its pass rates', () => {
    const card = readFileSync(join(folder, 'README.md'), 'utf8');
    assert.match(card, /flawed chains in the corpus: (3[5-9]|4[0-5])\.\d %/);
    assert.match(card, /flawed tests in the corpus: 1[5-9]\.\d %/);
    const rates = /pass all hidden tests \| ([\d.]+) % \| ([\d.]+) % \|/.exec(card)!;
    for (const rate of rates.slice(1).map(Number)) assert.ok(rate >= 50 && rate <= 75, `${rate}`);
  });

  /** A user turn with its markers named. */
  const contentOf = (text: string): Content =>
    text.split(/(<(?:gen|disc|s\d|tests)>)/).map((part, i) => (i % 2 === 1 ? { control: part } : part));

  it('was trained on the same tokens that inference builds for a conversation', () => {
    const vocabulary = vocabularyOf(tinyCorpus());
    const tokenizer = loadTokenizer(folder);
    const chat = loadChatFormat(folder, tokenizer);
    const train = tinyCorpus().filter((problem) => problem.split === 'train');
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
