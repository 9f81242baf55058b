import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { Tokenizer } from '@huggingface/tokenizers';
import { RandomStream } from '../../../core/random.js';
import { STAGES } from '../../../core/schema/chain.js';
import { shippedModelPath } from '../../../data/paths.js';
import { ROOT } from '../../../infra/root.mjs';
import {
  type CorpusExample,
  type CorpusPhase,
  corpusExample,
  encodeExample,
} from '../../../lab/families/tiny/corpus.js';
import { tinyCorpus } from '../../../lab/families/tiny/corpusProblems.js';
import { allProblems } from '../../../lab/families/tiny/family.js';
import { drawChain } from '../../../lab/families/tiny/flaws.js';
import { tinyModelFiles } from '../../../lab/families/tiny/modelFiles.js';
import { loadTinyProblems } from '../../../lab/families/tiny/problems.js';
import { renderDescription, renderSignature } from '../../../lab/families/tiny/render.js';
import { EOS, SPECIAL_TOKENS, tokenizerConfig, tokenizerJson } from '../../../lab/families/tiny/tokenizer.js';
import { vocabularyOf } from '../../../lab/families/tiny/vocabulary.js';

const phase: CorpusPhase = { name: 'test', discriminatorShare: 0.6 };
const problems = allProblems();
const train = tinyCorpus().filter((problem) => problem.split === 'train');
const examples: CorpusExample[] = Array.from({ length: 3000 }, (_, i) => corpusExample(train, phase, 7, i));
const vocabulary = vocabularyOf(tinyCorpus());
const library = new Tokenizer(tokenizerJson(vocabulary), tokenizerConfig(512));

describe('the corpus', () => {
  it('is a pure function of seed, phase and index', () => {
    assert.deepEqual(corpusExample(train, phase, 7, 11), examples[11]);
    assert.notDeepEqual(corpusExample(train, phase, 8, 11), examples[11]);
    assert.notDeepEqual(corpusExample(train, { ...phase, name: 'other' }, 7, 11), examples[11]);
  });

  it('has a realistic share of flaws: 35 to 45 % of chains, 15 to 20 % of tests', () => {
    const chains = examples.filter((example) => example.role === 'generator');
    const tests = examples.reduce((sum, example) => sum + example.tests, 0);
    const flawedChains = chains.filter((example) => example.flawedChain).length / chains.length;
    const flawedTests = examples.reduce((sum, example) => sum + example.flawedTests, 0) / tests;
    assert.ok(flawedChains > 0.35 && flawedChains < 0.45, `${flawedChains}`);
    assert.ok(flawedTests > 0.15 && flawedTests < 0.2, `${flawedTests}`);
  });

  it('draws roles and sources in the shares of the phase', () => {
    const sources = { list: 0.45, range: 0.2, str: 0.35 };
    const balanced = Array.from({ length: 2000 }, (_, i) => corpusExample(train, { ...phase, sources }, 7, i));
    for (const [source, share] of Object.entries(sources)) {
      const drawn = balanced.filter((example) => example.problemId.startsWith(`tiny-${source}-`)).length / 2000;
      assert.ok(Math.abs(drawn - share) < 0.04, `${source} ${drawn}`);
    }
    const discriminators = examples.filter((example) => example.role === 'discriminator').length / examples.length;
    assert.ok(Math.abs(discriminators - 0.6) < 0.03, `${discriminators}`);
  });

  it('contains no held-out problem', () => {
    const ids = new Set(train.map((problem) => problem.id));
    for (const example of examples) assert.ok(ids.has(example.problemId));
  });

  it('has flawed chains that are correct up to one stage and flawed from it on', () => {
    let fixed = 0;
    for (const [i, problem] of problems.entries()) {
      const chain = drawChain(problem, new RandomStream('origin', i));
      if (chain.flaws.length === 0) continue;
      const truth = drawChain(problem, new RandomStream('origin', i), zeroRates);
      for (const stage of STAGES.slice(0, chain.origin - 1))
        assert.equal(chain.stages[stage - 1], truth.stages[stage - 1]);
      if (chain.flaws.includes('comparison') && problem.filter === 'ge') {
        assert.equal(chain.origin, 1);
        fixed++;
      } else if (chain.flaws.includes('end')) {
        assert.equal(chain.origin, 5);
        fixed++;
      }
    }
    assert.ok(fixed > 50);
  });

  it('trains on answer tokens and their end tokens only', () => {
    for (const { turns } of examples.slice(0, 300)) {
      const { tokens, mask } = encodeExample(vocabulary, turns);
      assert.equal(tokens.length, mask.length);
      const trained = tokens.filter((_, i) => mask[i] === 1);
      assert.equal(vocabulary.decode(trained), turns.map((turn) => turn.assistant + EOS).join(''));
      const given = tokens.filter((_, i) => mask[i] === 0);
      assert.equal(vocabulary.decode(given), turns.map((turn) => turn.user).join(''));
    }
  });

  it('fits the limits of the tiny preset: 96 tokens per stage, 215 per chain', () => {
    for (const { role, turns } of examples) {
      const longest = Math.max(...turns.map((turn) => vocabulary.encode(turn.assistant).length + 1));
      assert.ok(longest <= (role === 'generator' ? 96 : 160), turns[0]!.user);
      assert.ok(encodeExample(vocabulary, turns).tokens.length <= 256);
    }
  });
});

const zeroRates = {
  atLeast: 0,
  atMost: 0,
  strict: 0,
  parity: 0,
  guardMax: 0,
  guardMin: 0,
  guardEnds: 0,
  end: 0,
  skip: 0,
  map: 0,
  reduce: 0,
};

describe('the tokenizer', () => {
  const hard = [
    '"ab" == "cd',
    'x <= 3 -5 "',
    'foo_bar 12345 "q"\n\n  x',
    '# [-3, 204] keep []',
    'a - b [ (c) # d "" \\ ~ |',
    '<s1><s2>if<eos>',
    ' ( ) -- == != <>  <s6> <gen',
    Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join(''),
  ];
  const texts = [...hard, ...examples.flatMap(({ turns }) => turns.flatMap((turn) => [turn.user, turn.assistant]))];

  it('decodes every printable ASCII text to itself', () => {
    for (const text of texts) assert.equal(vocabulary.decode(vocabulary.encode(text)), text);
  });

  it('splits text like the Hugging Face library with the same tokenizer.json', () => {
    for (const text of [...texts, "it's “odd” é\t\r\n"]) {
      assert.deepEqual(library.encode(text, { add_special_tokens: false }).ids, vocabulary.encode(text), text);
    }
    for (const text of texts) {
      assert.equal(library.decode(vocabulary.encode(text), { skip_special_tokens: false }), text);
    }
  });

  it('has at most 400 tokens, including every word of every split', () => {
    assert.ok(vocabulary.tokens.length <= 400);
    for (const token of [...SPECIAL_TOKENS, '0', '42', '159', ' at', ' least'])
      assert.equal(vocabulary.encode(token).length, 1);
    assert.equal(vocabulary.encode('204').length, 3);
    assert.equal(vocabulary.encode('"aE1"').length, 5);
    const letters = vocabulary.idOf('z');
    for (const problem of problems) {
      const ids = vocabulary.encode(`${renderDescription(problem)}\n${renderSignature(problem)}`);
      assert.ok(ids.length < 50 && !ids.includes(letters), problem.id);
    }
  });

  it('renders a conversation like the training data', () => {
    const { turns } = examples.find((example) => example.role === 'generator')!;
    const config = tokenizerConfig(512) as { chat_template: string; eos_token: string };
    const messages = turns.flatMap((turn) => [
      { role: 'user', content: turn.user },
      { role: 'assistant', content: turn.assistant },
    ]);
    const text = new Template(config.chat_template).render({ messages, eos_token: config.eos_token });
    assert.deepEqual(vocabulary.encode(text), encodeExample(vocabulary, turns).tokens);
  });
});

describe('shipped files', () => {
  it('equal what the code generates, byte for byte', () => {
    for (const [name, content] of tinyModelFiles(vocabulary)) {
      assert.equal(readFileSync(join(shippedModelPath('tiny'), name), 'utf8'), content, name);
    }
  });

  it('match the counts and digests in data/manifest.json, as do the problems', () => {
    const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
    const manifest = JSON.parse(readFileSync(join(ROOT, 'data', 'manifest.json'), 'utf8')) as {
      problems: { counts: object; sha256: object };
      model: { vocabulary: number; sha256: object };
    };
    const splits = Object.entries(loadTinyProblems());
    const files = [...tinyModelFiles(vocabulary)];
    assert.deepEqual(manifest.problems.counts, Object.fromEntries(splits.map(([split, all]) => [split, all.length])));
    assert.deepEqual(
      manifest.problems.sha256,
      Object.fromEntries(splits.map(([split, all]) => [split, sha256(JSON.stringify(all))])),
    );
    assert.equal(manifest.model.vocabulary, vocabulary.tokens.length);
    assert.deepEqual(manifest.model.sha256, Object.fromEntries(files.map(([name, text]) => [name, sha256(text)])));
  });
});
