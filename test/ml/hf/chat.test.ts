import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from '../../../data/paths.js';
import { ChatFormat, type ChatMessage, loadChatFormat } from '../../../ml/hf/chat.js';
import { loadTokenizer, makeTokenizer } from '../../../ml/hf/tokenizer.js';

const fixture = join(packageRoot(), 'test', 'ml', 'parity', 'generate');
// recorded from the tokenizers and transformers libraries by test/ml/parity/record_generate.py
const expected = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8')) as {
  text: { text: string; ids: number[]; decoded: string }[];
  opening: { messages: ChatMessage[]; ids: number[] };
  chat: { messages: ChatMessage[]; ids: number[] };
};
const EOS = 2;

describe('tokenizer', () => {
  it('gives the ids that the tokenizers library gives, special and unknown words included', () => {
    const tokenizer = loadTokenizer(fixture);
    for (const { text, ids, decoded } of expected.text) {
      assert.deepEqual(tokenizer.encode(text), ids);
      assert.equal(tokenizer.decode(ids), decoded);
    }
  });

  it('decoding is lossless for text of the vocabulary, spaces and specials kept', () => {
    const tokenizer = loadTokenizer(fixture);
    for (const text of ['def solve(nums):\n  return 12 + 3', '  alpha \n\n beta<|im_end|>\n', '. , : ( x )'])
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    assert.equal(tokenizer.decode([]), '');
    assert.deepEqual(tokenizer.encode(''), []);
    assert.equal(tokenizer.tokenId('<|im_end|>'), EOS);
    assert.equal(tokenizer.tokenId('nowhere'), undefined);
  });

  it('a folder without a tokenizer, or with a broken one, is named', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tokenizer-'));
    try {
      assert.throws(() => loadTokenizer(folder), /no tokenizer.json/);
      writeFileSync(join(folder, 'tokenizer.json'), '{"model"');
      assert.throws(() => loadTokenizer(folder), /not JSON/);
      writeFileSync(join(folder, 'tokenizer.json'), '{"model":{"type":"Odd"}}');
      assert.throws(() => loadTokenizer(folder), /not a usable tokenizer/);
      const noUnknown = makeTokenizer({ model: { type: 'WordLevel', vocab: { a: 0 } } }, {}, 'small');
      assert.deepEqual(noUnknown.encode('a'), [0]);
      assert.throws(() => noUnknown.encode('b'), /small: no token for part 0 of "b"/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('chat template', () => {
  it('the opening equals that of transformers', () => {
    const chat = loadChatFormat(fixture, loadTokenizer(fixture), [EOS]);
    assert.deepEqual(chat.openingTokens(expected.opening.messages), expected.opening.ids);
  });

  it('opening + answer + continuation is the whole conversation as transformers writes it', () => {
    const tokenizer = loadTokenizer(fixture);
    const chat = loadChatFormat(fixture, tokenizer, [EOS]);
    const [system, user, answer, next] = expected.chat.messages;
    const opening = chat.openingTokens([system!, user!]);
    const said = tokenizer.encode(answer!.content);
    const cut = [...opening, ...said, ...chat.continuationTokens(next!.content, false)];
    const finished = [...opening, ...said, EOS, ...chat.continuationTokens(next!.content, true)];
    assert.deepEqual(cut, expected.chat.ids);
    assert.deepEqual(finished, expected.chat.ids);
  });

  it('a template that is missing, does not parse, fails or hides answers is named', () => {
    const tokenizer = loadTokenizer(fixture);
    const none = makeTokenizer({ model: { type: 'WordLevel', vocab: { a: 0 } } }, {});
    assert.throws(() => loadChatFormat('/nowhere', none, []), /no chat_template/);
    assert.throws(() => new ChatFormat('{% if %}', tokenizer, []), /chat template/);
    const refusing = new ChatFormat("{{ raise_exception('roles must alternate') }}", tokenizer, []);
    assert.throws(() => refusing.openingTokens([{ role: 'user', content: 'x' }]), /roles must alternate/);
    const hiding = new ChatFormat("{{ messages[0]['content'] }}", tokenizer, []);
    assert.throws(() => hiding.continuationTokens('x', true), /does not show the assistant/);
  });

  it('named templates are read by their name, special tokens in object form by their content', () => {
    const config = {
      eos_token: { content: '<e>' },
      chat_template: [{ name: 'default', template: '{{ eos_token }}a' }],
    };
    const json = {
      model: { type: 'WordLevel', vocab: { a: 0 } },
      added_tokens: [{ id: 1, content: '<e>', special: true }],
    };
    const tokenizer = makeTokenizer(json, config);
    assert.deepEqual(loadChatFormat('/nowhere', tokenizer, []).openingTokens([]), [1, 0]);
  });
});
