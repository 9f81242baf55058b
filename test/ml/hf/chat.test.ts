import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from '@huggingface/jinja';
import { textOf } from '../../../core/prompts/prompts.js';
import { ROOT } from '../../../infra/root.mjs';
import { EngineFiles } from '../../../ml/engine/engineFiles.js';
import { ChatFormat, type ChatMessage, loadChatFormat } from '../../../ml/hf/chat.js';
import type { ModelFiles } from '../../../ml/hf/model.js';
import { dateText, ModelTemplate } from '../../../ml/hf/template.js';
import { loadTokenizer, makeTokenizer } from '../../../ml/hf/tokenizer.js';
import { temporaryFolder } from '../../infra/support.js';

const fixture = join(ROOT, 'test', 'ml', 'parity', 'generate');
// recorded from the tokenizers and transformers libraries by test/ml/parity/record_generate.py
const expected = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8')) as {
  text: { text: string; ids: number[]; decoded: string }[];
  opening: { messages: ChatMessage[]; ids: number[] };
  chat: { messages: ChatMessage[]; ids: number[] };
};
const EOS = 2;

describe('tokenizer', () => {
  it('gives the same ids as the tokenizers library, even for special and unknown words', () => {
    const tokenizer = loadTokenizer(fixture);
    for (const { text, ids, decoded } of expected.text) {
      assert.deepEqual(tokenizer.encode(text), ids);
      assert.equal(tokenizer.decode(ids), decoded);
    }
  });

  it('decodes text of the vocabulary exactly, with spaces and special tokens', () => {
    const tokenizer = loadTokenizer(fixture);
    for (const text of ['def solve(nums):\n  return 12 + 3', '  alpha \n\n beta<|im_end|>\n', '. , : ( x )'])
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
    assert.equal(tokenizer.decode([]), '');
    assert.deepEqual(tokenizer.encode(''), []);
    assert.deepEqual(tokenizer.encode('<|im_end|>'), [EOS]);
  });

  it('refuses a folder with a missing or broken tokenizer and names the file', () => {
    const folder = temporaryFolder();
    assert.throws(() => loadTokenizer(folder), /no tokenizer.json/);
    writeFileSync(join(folder, 'tokenizer.json'), '{"model"');
    assert.throws(() => loadTokenizer(folder), /not JSON/);
    writeFileSync(join(folder, 'tokenizer.json'), '{"model":{"type":"Odd"}}');
    assert.throws(() => loadTokenizer(folder), /not a usable tokenizer/);
    const noUnknown = makeTokenizer({ model: { type: 'WordLevel', vocab: { a: 0 } } }, {}, 'small');
    assert.deepEqual(noUnknown.encode('a'), [0]);
    assert.throws(() => noUnknown.encode('b'), /small: no token for part 0 of "b"/);
  });
});

describe('chat template', () => {
  it('the opening prompt equals that of transformers', () => {
    const chat = loadChatFormat(fixture, loadTokenizer(fixture));
    assert.deepEqual(chat.openingTokens(expected.opening.messages), expected.opening.ids);
  });

  it('opening, answer and continuation together equal the conversation of transformers', () => {
    const tokenizer = loadTokenizer(fixture);
    const chat = loadChatFormat(fixture, tokenizer);
    const [system, user, answer, next] = expected.chat.messages;
    const opening = chat.openingTokens([system!, user!]);
    const said = tokenizer.encode(textOf(answer!.content));
    const cut = [...opening, ...said, ...chat.continuationTokens(next!.content)];
    const finished = [...opening, ...said, EOS, ...chat.continuationTokens(next!.content, EOS)];
    assert.deepEqual(cut, expected.chat.ids);
    assert.deepEqual(finished, expected.chat.ids);
  });

  it('ends an answer once, also if the template writes a space before the end token, as that of Llama 2', () => {
    const tokenizer = loadTokenizer(fixture);
    const template =
      "{% for m in messages %}{% if m['role'] == 'user' %}alpha {{ m['content'] }} beta{% else %} {{ m['content'] }} <|im_end|>{% endif %}{% endfor %}";
    const chat = new ChatFormat(template, tokenizer);
    const next = tokenizer.encode('alpha x beta');
    assert.deepEqual(chat.continuationTokens('x', EOS), next);
    assert.deepEqual(chat.continuationTokens('x'), [...tokenizer.encode(' '), EOS, ...next]);
    assert.deepEqual(chat.answerTokens('alpha', [EOS]), [...tokenizer.encode('alpha'), EOS]);
  });

  it('an answer also ends at the control token that the template writes after it, if the model names another one', () => {
    const folder = temporaryFolder();
    const tokens = ['<pad>', '<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|user|>', 'a', '\n', '<unk>'];
    const idOf = (token: string): number => tokens.indexOf(token);
    const control = tokens.slice(1, 5).map((content) => ({ id: idOf(content), content, special: true }));
    const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
    const pre_tokenizer = { type: 'Split', pattern: { Regex: '\\n|[^\\n]+' }, behavior: 'Isolated', invert: false };
    writeFileSync(
      join(folder, 'tokenizer.json'),
      JSON.stringify({
        added_tokens: control,
        pre_tokenizer,
        model: { type: 'WordLevel', vocab, unk_token: '<unk>' },
      }),
    );
    const chatOf = (template: string, eosTokens: number[]) => {
      writeFileSync(join(folder, 'chat_template.jinja'), template);
      return new EngineFiles({ path: folder, eosTokens } as unknown as ModelFiles).chat();
    };
    const written = (after: string): string =>
      `{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}${after}{% else %}<|im_start|>{{ m.content }}{% endif %}{% endfor %}`;
    const [endOfText, imEnd, user] = ['<|endoftext|>', '<|im_end|>', '<|user|>'].map(idOf) as [number, number, number];
    const base = chatOf(written('<|im_end|>\n'), [endOfText]);
    assert.deepEqual(base.endTokens(), [endOfText, imEnd]);
    assert.deepEqual(base.answerTokens('a'), [idOf('a'), imEnd]);
    assert.deepEqual(base.continuationTokens('a', imEnd)[0], idOf('\n'));
    assert.deepEqual(chatOf(written('\n<|im_end|>'), [endOfText]).endTokens(), [endOfText, imEnd]);
    assert.deepEqual(chatOf(written('<|im_end|>'), [endOfText, imEnd]).endTokens(), [endOfText, imEnd]);
    assert.deepEqual(chatOf(written('<|im_end|>'), [imEnd]).endTokens(), [imEnd]);
    // GLM's template writes no end: the next turn begins
    assert.deepEqual(chatOf(written('<|user|>'), [endOfText]).endTokens(), [endOfText, user]);
    // the first control token ends nothing here
    assert.deepEqual(chatOf(written('a<|user|>'), [endOfText]).endTokens(), [endOfText]);
    assert.deepEqual(chatOf('{{ messages[0].content }}', [endOfText]).endTokens(), [endOfText]);
  });

  it('gets the value none for `tools` and `documents`, as in transformers', () => {
    const tokenizer = loadTokenizer(fixture);
    const source = '{% if tools is not none or documents is not none %}beta{% else %}alpha{% endif %}';
    assert.deepEqual(new ChatFormat(source, tokenizer).openingTokens([]), tokenizer.encode('alpha'));
    assert.deepEqual(new ChatFormat(source, tokenizer, '', { tools: 'x' }).openingTokens([]), tokenizer.encode('beta'));
  });

  it('refuses a model that does not say which token ends an answer', () => {
    const chat = new EngineFiles({ path: fixture, eosTokens: [] } as unknown as ModelFiles).chat();
    assert.throws(() => chat.openingTokens([{ role: 'user', content: 'x' }]), /no eos_token_id/);
  });

  it('refuses a template that is missing, does not parse, fails or omits answers', () => {
    const tokenizer = loadTokenizer(fixture);
    const none = makeTokenizer({ model: { type: 'WordLevel', vocab: { a: 0 } } }, {});
    assert.throws(() => loadChatFormat('/nowhere', none), /no chat_template/);
    for (const chat_template of [5, [{ name: 'default', template: 5 }], [null], []]) {
      const odd = makeTokenizer({ model: { type: 'WordLevel', vocab: { a: 0 } } }, { chat_template });
      assert.throws(() => loadChatFormat('/nowhere', odd), /no chat_template/);
    }
    assert.throws(() => new ChatFormat('{% if %}', tokenizer), /chat template/);
    const refusing = new ChatFormat("{{ raise_exception('roles must alternate') }}", tokenizer);
    assert.throws(() => refusing.openingTokens([{ role: 'user', content: 'x' }]), /roles must alternate/);
    const hiding = new ChatFormat("{{ messages[0]['content'] }}", tokenizer);
    assert.throws(() => hiding.continuationTokens('x'), /does not render the assistant/);
  });

  it('reads named templates, and special tokens in object form', () => {
    const config = {
      eos_token: { content: '<e>' },
      chat_template: [{ name: 'default', template: '{{ eos_token }}a' }],
    };
    const json = {
      model: { type: 'WordLevel', vocab: { a: 0 } },
      added_tokens: [{ id: 1, content: '<e>', special: true }],
    };
    const tokenizer = makeTokenizer(json, config);
    assert.deepEqual(loadChatFormat('/nowhere', tokenizer).openingTokens([]), [1, 0]);
  });
});

describe('an untrusted template', () => {
  const MESSAGES = [
    { role: 'system', content: 'rules' },
    { role: 'user', content: 'ask "this"' },
    { role: 'assistant', content: ' said\nthat ' },
  ];
  const render = (source: string, messages: object[] = MESSAGES): string =>
    new ModelTemplate(source).render({ messages, bos_token: '<s>', add_generation_prompt: true });

  it('is rendered like in the library', () => {
    for (const source of [
      "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m['content'] | trim }}{% if loop.last %}!{% endif %}{% endfor %}",
      '{% set ns = namespace(n=0) %}{% for i in range(9, 1, -2) %}{% set ns.n = ns.n + i %}{{ i }},{% endfor %}{{ ns.n }}',
      '{{ messages | tojson(indent=2) }}{{ messages | tojson(**{"separators": (",", ":")}) }}{{ range(3) }}{{ range(2, 4) }}',
      '{% macro say(x, y="b") %}[{{ x }}{{ y }}]{% endmacro %}{{ say(1) }}{{ say("c", y=none) }}{{ True and not False }}',
      "{% for m in messages[1:] if m.role != 'user' %}{{ loop.index }}{{ m.content.split('\\n') | join('/') }}{% endfor %}",
      '{% filter upper %}{{ messages[0].content ~ 1.0 ~ true }}{{ none }}{{ nothing }}{% endfilter %}{{ nothing is defined }}',
      '{%- if add_generation_prompt %}\n  {{- "<assistant>" }}\n{%- endif %}',
    ]) {
      const library = new Template(source).render({
        messages: MESSAGES,
        bos_token: '<s>',
        add_generation_prompt: true,
      });
      assert.equal(render(source), library, source);
    }
    assert.equal(
      dateText(new Date(2026, 4, 3, 7, 8), '%d %b %B %Y %m %H:%M 100%% %q'),
      '03 May May 2026 05 07:08 100% %q',
    );
  });

  it('has the same date every day, so a prompt depends on its inputs only', () => {
    assert.equal(render('{{ strftime_now("%d %b %Y") }}'), '26 Jul 2024');
  });

  it('stops with a one-line error if it loops forever', () => {
    const long = 'range(100000)';
    for (const source of [
      `{% for a in ${long} %}{% for b in ${long} %}{% for c in ${long} %}{% endfor %}{% endfor %}{% endfor %}`,
      '{% set r = range %}{% for a in r(100000000000000000) %}{% endfor %}',
      '{% for a in range(0, 1, 0.0000000001) %}{% endfor %}',
      `{% for a in ${long} %}{% macro m() %}${'{{ a }}'.repeat(10_000)}{% endmacro %}{% endfor %}`,
      '{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}',
    ])
      assert.throws(() => render(source), /^Error: rendering it takes too much work: .*chat_template\.jinja/, source);
    assert.throws(() => render('{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}'), Error);
    assert.throws(() => render('{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}'), Error);
    assert.throws(() => render('{{ range(1, 2, 0) }}'), /range\(\)/);
  });

  it('stops with a one-line error before it produces gigabytes', () => {
    const doubled = (start: string, join: string): string =>
      `{% set ns = namespace(x=${start}) %}{% for i in range(60) %}{% set ns.x = ${join} %}{% endfor %}{{ ns.x }}`;
    const before = process.memoryUsage().rss;
    for (const source of [
      doubled("'gauntlet'", 'ns.x ~ ns.x'),
      doubled('[1]', 'ns.x + ns.x'),
      doubled('[1]', '[ns.x, ns.x]'),
      doubled("{'a': 1}", "{'a': ns.x, 'b': ns.x}"),
      doubled("'aa'", "ns.x.replace('a', ns.x)"),
      doubled("'aa'", 'ns.x | join(ns.x)'),
      '{{ range(1000000000) }}',
    ])
      assert.throws(() => render(source), /^Error: (rendering it takes too much work|it calls itself)/, source);
    for (const wide of ['indent=400000000', "separators=('x' * 1, ', ')", "**{'indent': 400000000}"])
      assert.throws(() => render(`{{ [[1, 2], [3, 4]] | tojson(${wide}) }}`), Error, wide);
    assert.throws(() => render('{{ [1] | tojson(indent=33) }}'), /more than 32 characters/);
    assert.throws(() => new ModelTemplate('x'.repeat(256 * 1024 + 1)), /longer than 256 KiB/);
    assert.throws(() => new ModelTemplate(`a${' '.repeat(1000)}`), /thousand blanks/);
    assert.ok(process.memoryUsage().rss - before < 2 ** 30, 'less than a gigabyte');
  });

  it('may be long, and may have a long conversation', () => {
    const template = readFileSync(join(fixture, 'tokenizer_config.json'), 'utf8');
    const source = (JSON.parse(template) as { chat_template: string }).chat_template;
    const many = Array.from({ length: 400 }, (_, i) => ({
      role: i % 2 === 0 ? 'user' : 'assistant',
      content: 'word '.repeat(2000),
    }));
    assert.equal(render(source, many), new Template(source).render({ messages: many, add_generation_prompt: true }));
    assert.ok(render(`${'{# why #}'.repeat(20_000)}{{ messages[0].content }}`) === 'rules');
  });
});
