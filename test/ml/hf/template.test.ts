// Templates with the output of Jinja2 3.1, in the environment of transformers' apply_chat_template.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { loadChatFormat } from '../../../ml/hf/chat.js';
import { ModelTemplate } from '../../../ml/hf/template.js';
import { loadTokenizer } from '../../../ml/hf/tokenizer.js';
import { temporaryFolder } from '../../infra/support.js';

const messages = [
  { role: 'system', content: 'S' },
  { role: 'user', content: 'U' },
  { role: 'assistant', content: 'A' },
  { role: 'user', content: 'V' },
];
const render = (source: string): string => new ModelTemplate(source).render({ messages });

describe('loops of a template', () => {
  const RENDERED: Record<string, string> = {
    "{% for m in messages %}{% if m.role == 'system' %}[{{ m.content }}]{% continue %}{% endif %}{{ m.role }};{% endfor %}":
      '[S]user;assistant;user;',
    "{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}!{% break %}{% endif %},{% endfor %}.":
      'S,U,A!.',
    '{% for m in messages %}{{ m.content }}{% for k in messages %}{{ k.content }}{% if loop.index == 2 %}{% break %}{% endif %}-{% endfor %};{% endfor %}':
      'SS-U;US-U;AS-U;VS-U;',
    "{% for m in messages if m.role != 'user' %}{{ loop.index }}{{ m.content }}{% if loop.first %}{% continue %}{% endif %}/{% endfor %}":
      '1S2A/',
    '{% for m in messages %}{{ m.content }}{% continue %}{% else %}none{% endfor %}': 'SUAVnone',
    '{% for m in messages %}{{ m.content }}{% break %}{% else %}none{% endfor %}': 'Snone',
    '{% for m in messages %}{% for k in [] %}{% else %}{{ m.content }}{% break %}{% endfor %}x{% endfor %}': 'S',
    '{% for m in messages %}a{% set x %}b{% if loop.index == 2 %}{% continue %}{% endif %}c{% endset %}{{ x }}{% endfor %}':
      'abcaabcabc',
    '{% for m in messages %}{% filter upper %}b{{ m.role }}{% if loop.index == 2 %}{% break %}{% endif %}{% endfilter %};{% endfor %}':
      'BSYSTEM;',
    "{% for m in messages %}{% if loop.first %}{% set x = 'q' %}{% endif %}[{{ x }}]{% endfor %}[{{ x }}]":
      '[q][][][][]',
    '{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% if ns.n == 3 %}{% break %}{% endif %}{{ ns.n }}{% endfor %}={{ ns.n }}':
      '12=3',
    "{% macro say(ms) %}{% for m in ms %}{{ m.content }}{% if m.role == 'user' %}{% break %}{% endif %}+{% endfor %}{% endmacro %}{{ say(messages) }}{{ say(messages[2:]) }}":
      'S+UA+V',
    "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% continue %}{% endif %}{{ m.role }}{% endfor %}":
      'systemuserAuser',
    "{%- for m in messages -%}\n  {%- if m.role == 'system' -%}\n    {{- m.content }}\n    {%- continue -%}\n  {%- endif -%}\n  {{- m.role }}\n{% endfor -%}\nend\n":
      'Suser\nassistant\nuser\nend',
  };
  for (const [source, expected] of Object.entries(RENDERED)) it(source, () => assert.equal(render(source), expected));

  it('refuses break and continue outside of a loop', () => {
    for (const source of [
      '{% break %}',
      '{% if true %}{% continue %}{% endif %}',
      '{% for m in messages %}{% macro f() %}{% break %}{% endmacro %}{% endfor %}',
      '{% for m in messages %}{% else %}{% break %}{% endfor %}',
    ])
      assert.throws(() => new ModelTemplate(source), /it has {% (break|continue) %} outside of a loop/, source);
  });
});

describe('line ends of a template', () => {
  const LINES = [
    '{% for m in messages %}',
    '    {% if true %}',
    "{{- m.role + '",
    "' }} \\r\\n {{ '\\r\\n' }}",
    '    {% endif %}',
    '{# a comment #}',
    '{% endfor %}',
    '',
  ];
  // an escaped line end in a string is not one of the template
  const expected = messages.map(({ role }) => `${role}\n \\r\\n \r\n\n`).join('');

  for (const [name, end] of Object.entries({ LF: '\n', CRLF: '\r\n', CR: '\r' }))
    it(`are read as line feeds, even in a string: ${name}`, () => assert.equal(render(LINES.join(end)), expected));

  it('are no part of the prompt at the end of the template', () => {
    for (const end of ['\n', '\r\n', '\r']) assert.equal(render(`a${end}`), 'a');
    assert.equal(render('a\r\n\r\n'), 'a\n');
    assert.equal(render('a\n\rb'), 'a\n\nb');
  });

  it('stay as they are in messages', () => {
    const template = new ModelTemplate('{{ messages[0].content }}');
    assert.equal(template.render({ messages: [{ role: 'user', content: 'a\r\nb\r' }] }), 'a\r\nb\r');
  });

  it('do not change prompts, nor does a byte order mark or UTF-16; Latin-1 is refused', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'chat_template.jinja');
    const tokenizer = loadTokenizer(join(ROOT, 'test', 'ml', 'parity', 'generate'));
    const opening = (): number[] => loadChatFormat(folder, tokenizer).openingTokens([{ role: 'user', content: 'x' }]);
    const lines = '{% for m in messages %}\n  {% if m.content %}\nalpha\n{{ m.content }}{% endif %}\n{% endfor %}\n';
    writeFileSync(path, lines);
    const expected = opening();
    for (const other of [lines.replaceAll('\n', '\r\n'), `\uFEFF${lines}`]) {
      writeFileSync(path, other);
      assert.deepEqual(opening(), expected);
    }
    writeFileSync(path, Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(lines, 'utf16le')]));
    assert.deepEqual(opening(), expected);
    writeFileSync(path, Buffer.from(`caf\xe9 ${lines}`, 'latin1'));
    assert.throws(opening, /chat_template\.jinja: line 1 is not UTF-8: save the file as UTF-8/);
  });
});
