// The shipped problems and base models belong to the code of the families.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Content } from '../../../core/prompts/prompts.js';
import { shippedModelPath, shippedProblemsPath } from '../../../data/paths.js';
import { loadProblems } from '../../../data/problems.js';
import { CORPORA, FAMILY_NAMES, linesOf, PROBLEMS } from '../../../lab/families/index.js';
import { corpusExample, encodeExample } from '../../../lab/families/tiny/corpus.js';
import { vocabularyOf } from '../../../lab/families/tiny/vocabulary.js';
import { loadChatFormat } from '../../../ml/hf/chat.js';
import { loadTokenizer } from '../../../ml/hf/tokenizer.js';
import { digestJson } from '../../../store/canonicalJson.js';

describe('the shipped problems', function () {
  this.timeout(600_000); // the family computes for a quarter of a minute on an idle machine

  for (const [name, generate] of Object.entries(PROBLEMS)) {
    it(`are those that the family computes: ${name}`, async () => {
      const generated = generate();
      // not the bytes of the file: versions of zlib compress differently
      const text = gunzipSync(readFileSync(shippedProblemsPath(name))).toString();
      assert.ok(text === linesOf(generated), 'data/ is out of date: npm run make:problems');
      const loaded = await loadProblems(name === 'steps' ? 'steps:1-5' : name);
      assert.equal(digestJson(loaded), digestJson(generated));
    });
  }
});

/** A user turn with its markers named. */
const contentOf = (text: string): Content =>
  text.split(/(<(?:gen|disc|s\d|tests)>)/).map((part, i) => (i % 2 === 1 ? { control: part } : part));

for (const family of FAMILY_NAMES) {
  describe(`the shipped base model of ${family}`, () => {
    it('was trained on the same tokens that inference builds for a conversation', () => {
      const folder = shippedModelPath(family);
      const corpus = CORPORA[family]();
      const vocabulary = vocabularyOf(corpus);
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
