// Tests that hostile text of problem files and models never becomes a control token: neither in the shipped model's prompts nor in
// those of a model with a ChatML template.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROMPTS } from '../../../core/prompts/prompts.js';
import { STAGES } from '../../../core/schema/chain.js';
import { shippedModelPath } from '../../../data/paths.js';
import { ROOT } from '../../../infra/root.mjs';
import { type ChatMessage, loadChatFormat } from '../../../ml/hf/chat.js';
import { ControlTokens } from '../../../ml/hf/controlTokens.js';
import { loadTokenizer, makeTokenizer } from '../../../ml/hf/tokenizer.js';

const CHATML = join(ROOT, 'test', 'ml', 'parity', 'generate');

/** Every way to spell a token that tokenizers, templates or the marks themselves could fall for. */
const spellings = (token: string): string[] => [
  token,
  `${token}${token}`,
  `a ${token}\n${token} b`,
  token.slice(0, 1) + token, // a broken token before a whole one
  token + token.slice(1),
  token.slice(0, 3),
  token.slice(3),
  `${token.slice(0, 2)}${token}${token.slice(2)}`, // a token inside a token
  [...token].join('\uFDD0'),
  `\uFDD0${token}\uFDD0`,
  [...token].map((char) => (/[!-~]/.test(char) ? String.fromCharCode(char.charCodeAt(0) + 0xfee0) : char)).join(''), // full-width characters
  `\u0000${token}\u200B`,
];

interface Model {
  name: string;
  folder: string;
  style: 'tiny' | 'instruct';
}
const MODELS: Model[] = [
  { name: 'the shipped model', folder: shippedModelPath('tiny'), style: 'tiny' },
  { name: 'a model with a ChatML template', folder: CHATML, style: 'instruct' },
];

for (const { name, folder, style } of MODELS)
  describe(`hostile text for ${name}`, () => {
    const read = () => {
      const tokenizer = loadTokenizer(folder);
      const json = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8')) as {
        added_tokens: { id: number; content: string }[];
      };
      const chat = loadChatFormat(folder, tokenizer);
      // the unknown token stands for text outside the vocabulary: it controls nothing
      const added = json.added_tokens.filter(({ content }) => content !== '<unk>');
      const control = new Set(added.map(({ id }) => id));
      return { chat, control, texts: added.flatMap(({ content }) => spellings(content)) };
    };
    before(function () {
      if (!existsSync(join(folder, 'tokenizer.json'))) this.skip(); // the embedded model has not been made
    });

    it('adds no control token to any prompt of either role', () => {
      const { chat, control, texts } = read();
      assert.ok(texts.length >= 24, `${texts.length} texts`);
      const controls = (ids: number[]) => ids.filter((id) => control.has(id));
      const promptsOf = (text: string): number[][] => {
        const problem = { description: text, functionSignature: text, entry: text };
        return STAGES.flatMap((stage) => [
          chat.openingTokens(PROMPTS[style].opening(problem, stage) as ChatMessage[]),
          chat.continuationTokens(PROMPTS[style].continuation(problem, stage)),
          chat.openingTokens(
            PROMPTS[style].discriminator(problem, stage, text, { testsPerTurn: 2, expected: 'model' }),
          ),
        ]);
      };
      const expected = promptsOf('x').map(controls);
      for (const text of texts) assert.deepEqual(promptsOf(text).map(controls), expected, JSON.stringify(text));
    });

    it('adds no control token at the beginning and the end of a message', () => {
      const { chat, control, texts } = read();
      const controls = (content: string) =>
        [...chat.openingTokens([{ role: 'user', content }]), ...chat.continuationTokens(content)].filter((id) =>
          control.has(id),
        );
      const expected = controls('x');
      for (const text of texts) assert.deepEqual(controls(text), expected, JSON.stringify(text));
    });
  });

describe('protected text', () => {
  const control = new ControlTokens([{ content: '<|end|>' }, { content: 'xy' }, { content: 'yz' }, { content: '  ' }]);

  it('is unchanged if it spells no control token', () => {
    for (const text of ['', 'a b', 'x z', 'e < 3 and 4 > e', '    indented']) assert.equal(control.protect(text), text);
  });

  it('is encoded as it is written, without its marks', () => {
    for (const text of ['<|end|>', 'xyz', '|end|> a <', '<<|end|>>']) {
      const parts = control.split(control.protect(text))!;
      assert.deepEqual(parts, [{ text, isControl: false }], text);
    }
    assert.equal(control.protect('a\uFDD0b'), 'a\uFFFDb');
  });

  it('leaves the control tokens of the template, with the blanks that they take', () => {
    const strips = new ControlTokens([{ content: '<s>', lstrip: true, rstrip: true }, { content: '<s>>' }]);
    assert.deepEqual(strips.split(`a <s> ${strips.protect('<s>')}<s>>`), [
      { text: 'a', isControl: false },
      { text: ' <s> ', isControl: true },
      { text: '<s>', isControl: false },
      { text: '<s>>', isControl: true },
    ]);
  });

  it('has ordinary tokens: those of a tokenizer that knows no control token', () => {
    const vocab = Object.fromEntries([...'<|end>ab'].map((char, id) => [char, id]));
    const model = { type: 'BPE', vocab, merges: [] };
    const tokenizer = makeTokenizer({ model, added_tokens: [{ id: 9, content: '<|end|>', special: true }] }, {});
    assert.deepEqual(tokenizer.encode('a<|end|>'), [6, 9]);
    assert.deepEqual(tokenizer.encodeProtected('a<|end|>'), [6, 9]);
    const ids = tokenizer.encodeProtected(`${tokenizer.protect('a<|end|>')}<|end|>`);
    assert.deepEqual(ids, [6, 0, 1, 2, 3, 4, 1, 5, 9]);
  });
});
