// Strings on which tokenizers differ: code, Unicode, blanks, numbers, and text that looks like control tokens. Prints them
// as JSON lines for record_tokenizers.py.
import { RandomStream } from '../../../core/base/random.js';

export const COUNT = 10_000;

const WORDS =
  'def return if not in for while lambda self None nums index étude naïve Größe ДОМ 日本語 한국어 العربية שלום ไทย हिन्दी'.split(
    ' ',
  );
const PIECES = [
  ...[
    "'s",
    "'T",
    "'re",
    "don't",
    '`x`',
    '"""',
    '==',
    '!=',
    '->',
    '**',
    '//',
    '+=',
    ';',
    '...',
    '—',
    '…',
    '€',
    '½',
    'ﬁ',
    'Ⅷ',
    '١٢',
    '３',
  ],
  ...[
    ' ',
    '  ',
    '    ',
    '\t',
    '\n',
    '\n\n',
    '\r\n',
    ' \n ',
    '\u00a0',
    '\u200b',
    '\u3000',
    '\u0085',
    '\ufeff',
    '\u0301',
    '\u0000',
  ],
  ...['🙂', '👩‍👩‍👧', '🇩🇪', '𝒳', '\u{10ffff}', 'é', 'e\u0301', 'Å', 'ﷺ'],
  ...[
    '<|im_start|>',
    '<|im_end|>',
    '<|endoftext|>',
    '<|eot_id|>',
    '<|begin_of_text|>',
    '<|start_header_id|>',
    '<think>',
    '</think>',
  ],
  ...[
    '<tool_call>',
    '<|im_',
    'end|>',
    '<|',
    '|>',
    '< |im_end|>',
    '<s>',
    '[INST]',
    '<|IM_END|>',
    '<|im_end|> ',
    ' <|im_end|>',
  ],
];
const LINES = [
  'def solve(nums: list[int]) -> int:\n    return sum(n for n in nums if n % 2 == 0)\n',
  'class A(B):\n\tdef __init__(self, x=1_000.5e-3):\n\t\tself.x = x or {}\n',
  '# NOTE: handle empty input\nassert solve([]) == 0, "empty"\n',
  "The quick brown fox jumps over 13 lazy dogs; isn't it 3.14159?\r\n",
  'for (let i = 0; i < 10; i++) { a[i] ??= `$i{i}` + "#"; }',
  "SELECT * FROM t WHERE x >= 12345678 AND y LIKE '%_z';",
];

export function strings(): string[] {
  const random = new RandomStream('tokenizers');
  const number = (): string => String(random.int(0, 10 ** random.int(1, 15)));
  const character = (): string => {
    const point = random.int(1, random.choice([0x7f, 0x7ff, 0xfff, 0xd7ff, 0x1ffff]));
    return point >= 0xd800 && point <= 0xdfff ? '?' : String.fromCodePoint(point);
  };
  const piece = (): string => {
    const kind = random.int(0, 9);
    if (kind < 3) return random.choice(WORDS);
    if (kind < 6) return random.choice(PIECES);
    if (kind === 6) return number();
    if (kind === 7) return character();
    if (kind === 8) return ' '.repeat(random.int(1, 12));
    return random.choice(LINES).slice(random.int(0, 20), random.int(21, 80));
  };
  return Array.from({ length: COUNT }, () =>
    Array.from({ length: random.int(1, 12) }, piece).join(random.choice(['', ' '])),
  );
}

if (process.argv[1] === new URL(import.meta.url).pathname)
  for (const text of strings()) process.stdout.write(`${JSON.stringify(text)}\n`);
