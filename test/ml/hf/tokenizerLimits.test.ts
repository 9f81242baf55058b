// Tests tokenizer.json files that would never end or would fill the memory: they are refused, or their work ends at a limit.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { makeTokenizer, readJson } from '../../../ml/hf/tokenizer.js';

type Recorded = { tokenizer: Record<string, unknown>; texts: [text: string, ids: number[]][] };

const LETTERS = 'abcdefghijklmnopqrstuvwxyz $_▁';
const vocab = Object.fromEntries([...LETTERS].map((letter, id) => [letter, id]));
const model = { type: 'BPE', vocab, merges: [], unk_token: 'x' };
const added = (tokens: unknown) => ({ model, added_tokens: tokens });
const many = <T>(count: number, rule: T): T[] => Array.from({ length: count }, () => rule);
const replace = (pattern: object, content: string) => ({ type: 'Replace', pattern, content });
const doubling = replace({ String: 'e' }, 'ee');
const split = (regex: string) => ({ type: 'Split', pattern: { Regex: regex }, behavior: 'Isolated', invert: false });

const refused = (work: () => unknown, message: RegExp): void => {
  assert.throws(work, (error: Error & { code?: string }) => {
    assert.equal(error.code, 'BAD_MODEL', error.stack);
    assert.match(error.message, message);
    assert.ok(error.message.length < 400, `${error.message.length} characters`);
    return true;
  });
};

describe('a hostile tokenizer.json', () => {
  const FILES: [name: string, json: Record<string, unknown>, message: RegExp][] = [
    ['200 000 added tokens', added(many(200_000, { id: 1, content: '<a>' })), /200000 added tokens, at most 16384/],
    [
      'an added token of 300 kB',
      added([{ id: 5, content: 'a'.repeat(300_000) }]),
      /added_tokens\[0\]\.content is longer/,
    ],
    ['long added tokens', added(many(1000, { id: 5, content: 'a'.repeat(1000) })), /more than 262144 characters/],
    ['an added token that is a number', added([{ id: 5, content: 5 }]), /added_tokens\[0\]\.content must be a text/],
    ['an added token without a content', added([{ id: 5 }]), /content must be a text/],
    ['an added token that is null', added([null]), /content must be a text/],
    [
      'an added token whose id is a text',
      added([{ id: '5', content: 'a' }]),
      /added_tokens\[0\]\.id must be a token id/,
    ],
    ['an added token with id -1', added([{ id: -1, content: 'a' }]), /id must be a token id/],
    [
      'an added token whose flag is a text',
      added([{ id: 5, content: 'a', lstrip: 'x' }]),
      /lstrip must be true or false/,
    ],
    [
      'a token that is a whole word',
      added([{ id: 5, content: 'a', single_word: true }]),
      /single_word is not supported/,
    ],
    ['added tokens that are an object', added({ a: 1 }), /added_tokens must be a list/],
    ['no model', {}, /field model is missing/],
    ['a vocabulary of texts', { model: { ...model, vocab: { a: 'b' } } }, /must map every piece to its id/],
    ['a list without scores', { model: { type: 'Unigram', vocab: ['a'], unk_id: 0 } }, /must list \[text, score\]/],
    [
      'a vocabulary of 5 MB of characters',
      { model: { type: 'Unigram', unk_id: 0, vocab: [['a'.repeat(5e6), 0]] } },
      /more than 4194304 characters/,
    ],
    [
      '1000 rules',
      { model, normalizer: { type: 'Sequence', normalizers: many(1000, doubling) } },
      /more than 256 rules/,
    ],
    [
      'a rule that prepends 1 MB',
      { model, normalizer: { type: 'Prepend', prepend: 'a'.repeat(1e6) } },
      /prepend is longer/,
    ],
    ['parts of length 0', { model, pre_tokenizer: { type: 'FixedLength', length: 0 } }, /length must be a positive/],
    [
      'parts of length 0 within a sequence',
      { model, pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'FixedLength' }] } },
      /pretokenizers\[0\]\.length must be a positive/,
    ],
    [
      'a blank that becomes a pattern',
      { model, pre_tokenizer: { type: 'Metaspace', replacement: "$'" } },
      /not contain \$/,
    ],
    ['an invalid regular expression', { model, pre_tokenizer: split('(') }, /not a usable tokenizer/],
    ['a rule that is a number', { model, normalizer: 5 }, /not a usable tokenizer/],
  ];
  for (const [name, json, message] of FILES)
    it(`refuses ${name}`, () => refused(() => makeTokenizer(json, {}), message));

  it('refuses 200 000 additional special tokens', () => {
    const config = { additional_special_tokens: Array.from({ length: 200_000 }, (_, i) => `<${i}>`) };
    refused(() => makeTokenizer({ model }, config), /200000 additional_special_tokens, at most 16384/);
  });

  it('refuses rules that double the text of an added token again and again', () => {
    const normalizer = { type: 'Sequence', normalizers: many(40, doubling) };
    const json = { model, normalizer, added_tokens: [{ id: 5, content: 'e', normalized: true }] };
    refused(() => makeTokenizer(json, {}), /write far more text than they read/);
  });

  const RULES: [name: string, json: Record<string, unknown>][] = [
    ['normalizers that double a text', { normalizer: { type: 'Sequence', normalizers: many(40, doubling) } }],
    ['splitting rules that double it', { pre_tokenizer: { type: 'Sequence', pretokenizers: many(40, doubling) } }],
    [
      'nested rules that double it',
      { normalizer: { type: 'Sequence', normalizers: many(20, { type: 'Sequence', normalizers: many(2, doubling) }) } },
    ],
    [
      'a rule that writes at every place',
      { normalizer: { type: 'Sequence', normalizers: many(9, replace({ Regex: '' }, 'e'.repeat(900))) } },
    ],
    [
      'a vocabulary in which every part of a text is a piece',
      {
        model: { type: 'Unigram', unk_id: 0, vocab: Array.from({ length: 2000 }, (_, i) => ['e'.repeat(i + 1), -i]) },
      },
    ],
  ];
  for (const [name, json] of RULES)
    it(`ends ${name}`, () => {
      const tokenizer = makeTokenizer({ model, ...json }, {});
      refused(() => tokenizer.encode('e'.repeat(20_000)), /write far more text than they read/);
      refused(() => tokenizer.encodeProtected('e'.repeat(20_000)), /write far more text than they read/);
    });

  it('ends decoding rules that double a text', () => {
    const decoder = { type: 'Sequence', decoders: many(40, doubling) };
    const tokenizer = makeTokenizer({ model, decoder }, {});
    refused(() => tokenizer.decode([4, 4]), /write far more text than they read/);
    refused(() => tokenizer.protectSampled([4, 4]), /write far more text than they read/);
  });

  it('ends an expression of exponential time after seconds, and refuses at once from then on', () => {
    const tokenizer = makeTokenizer({ model, pre_tokenizer: split('(a+)+$') }, {});
    refused(() => tokenizer.encode(`${'a'.repeat(60)}b`), /more than 6 seconds for a text of 61 characters/);
    const before = performance.now();
    refused(() => tokenizer.encode('ab'), /more than 6 seconds/);
    assert.ok(performance.now() - before < 1000);
  });

  it('ends an expression of exponential time in a decoder', () => {
    const tokenizer = makeTokenizer(
      { model, decoder: { type: 'Sequence', decoders: [{ type: 'Fuse' }, replace({ Regex: '(a+)+b' }, '')] } },
      {},
    );
    refused(() => tokenizer.decode(many(60, 0)), /more than 6 seconds/);
  });

  it('refuses a text that no context holds', () => {
    const tokenizer = makeTokenizer({ model }, {});
    for (const work of [tokenizer.encode, tokenizer.encodeProtected, tokenizer.protect])
      assert.throws(() => work('a'.repeat(5e6)), { code: 'BAD_INPUT', message: /5000000 characters cannot be turned/ });
  });

  it('writes $ as it stands, as the original does', () => {
    const json = { model, normalizer: replace({ String: 'a' }, "$'$&"), decoder: replace({ String: 'b' }, '$`') };
    assert.deepEqual(
      makeTokenizer({ ...json, model: { ...model, unk_token: null } }, {}).encode('abc'),
      [27, 27, 1, 2],
    );
    assert.equal(makeTokenizer(json, {}).decode([2, 1]), 'c$`');
  });

  it('reads added tokens as the original does', () => {
    const { cases } = readJson(join(ROOT, 'test/ml/hf/addedTokens.json')) as { cases: Recorded[] };
    for (const { tokenizer, texts } of cases) {
      const { encode } = makeTokenizer(tokenizer, {});
      for (const [text, ids] of texts) assert.deepEqual(encode(text), ids, text);
    }
  });

  it('reads a post-processor without running it: nothing adds special tokens', () => {
    const single = many(100, { Sequence: { id: 'A', type_id: 0 } });
    const tokenizer = makeTokenizer({ model, post_processor: { type: 'TemplateProcessing', single, pair: [] } }, {});
    assert.deepEqual(tokenizer.encode('ab'), [0, 1]);
  });

  it('finds tokens that take the blanks around them in linear time', () => {
    const token = { id: 30, content: '<|t|>', lstrip: true, rstrip: true, normalized: false };
    const tokenizer = makeTokenizer({ model, added_tokens: [token] }, {});
    const text = `${tokenizer.protect('<|t|>')}${' '.repeat(1_000_000)}x`;
    const before = process.cpuUsage().user;
    assert.equal(tokenizer.encodeProtected(text).length, 5 + 1_000_001);
    assert.ok(process.cpuUsage().user - before < 30e6);
    assert.deepEqual(
      tokenizer.encodeProtected(`${tokenizer.protect('<|t|>')}a  <|t|> b<|t|>`).slice(5),
      [0, 30, 1, 30],
    );
  });

  it('reads 10 000 added tokens', () => {
    const tokens = Array.from({ length: 10_000 }, (_, i) => ({
      id: 30 + i,
      content: `<|token_${i}|>`,
      normalized: false,
    }));
    const tokenizer = makeTokenizer({ model, added_tokens: tokens }, {});
    assert.deepEqual(tokenizer.encode('a<|token_9999|>b'), [0, 10_029, 1]);
    const text = 'a <|token_5'.repeat(20_000);
    assert.equal(tokenizer.encodeProtected(tokenizer.protect(text)).length > 0, true);
  });
});
