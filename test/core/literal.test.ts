import assert from 'node:assert/strict';
import fc from 'fast-check';
import { GauntletError } from '../../core/errors.js';
import { formatArguments, formatValue } from '../../core/parse/format.js';
import { parsePythonLiteral } from '../../core/parse/literal.js';
import { floatRepr } from '../../core/parse/numbers.js';
import { fromBase64, toBase64 } from '../../core/parse/text.js';
import { type Value, valueSchema } from '../../core/schema/value.js';

// source → value in CPython 3.12
const ACCEPTED: [string, Value][] = [
  ['0', 0],
  ['-5', -5],
  ['1_000', 1000],
  ['0x1F', 31],
  ['0b101', 5],
  ['0o17', 15],
  ['9007199254740991', 9007199254740991],
  ['9007199254740992', { i: '0x20000000000000' }],
  ['-2**64', { i: '-0x10000000000000000' }],
  ['2**3', 8],
  ['2**3**2', 512],
  ['-2**2', -4],
  ['10**9 + 7', 1000000007],
  ['7//-2', -4],
  ['-7 % 3', 2],
  ['1 - 2 - 3', -4],
  ['1/2', { f: '0.5' }],
  ['2**-1', { f: '0.5' }],
  ['~5', -6],
  ['1 << 3', 8],
  ['1e3', { f: '1000.0' }],
  ['1e16', { f: '1e+16' }],
  ['1e-5', { f: '1e-05' }],
  ['.5', { f: '0.5' }],
  ['5.', { f: '5.0' }],
  ['[5., 5.e3, -1.]', [{ f: '5.0' }, { f: '5000.0' }, { f: '-1.0' }]],
  ['("5.,", 5.j)', { t: ['5.,', { c: ['0.0', '5.0'] }] }],
  ['-0.0', { f: '-0.0' }],
  ['0.1 + 0.2', { f: '0.30000000000000004' }],
  ["float('inf')", { f: 'inf' }],
  ["float('-inf')", { f: '-inf' }],
  ["float('nan')", { f: 'nan' }],
  ['float(3)', { f: '3.0' }],
  ['-math.inf', { f: '-inf' }],
  ['3j', { c: ['0.0', '3.0'] }],
  ['1-2j', { c: ['1.0', '-2.0'] }],
  ['+3j', { c: ['0.0', '3.0'] }],
  ['+5', 5],
  ['+0.5', { f: '0.5' }],
  ['2 * 3', 6],
  ['1 / 4.0', { f: '0.25' }],
  ['-3j', { c: ['-0.0', '-3.0'] }],
  ['None', null],
  ['null', null],
  ['True', true],
  ['true', true],
  ['false', false],
  ["'a,b'", 'a,b'],
  ['"a]b)"', 'a]b)'],
  ['"it\'s"', "it's"],
  ["'''a\nb'''", 'a\nb'],
  ["'\\n\\t\\x41\\101\\u00e9\\U0001F600\\q'", '\n\tAA\u00e9\u{1f600}\\q'],
  ["r'\\n'", '\\n'],
  ["u'a' 'b'", 'ab'],
  ["f'a{{b}}'", 'a{b}'],
  ["b'a\\xff' b'\\n'", { b: 'Yf8K' }],
  ['"a" * 3', 'aaa'],
  ['3 * "ab"', 'ababab'],
  ['"a" + "b"', 'ab'],
  ['[0] * 3 + [1]', [0, 0, 0, 1]],
  ['(0,) * 2 + (1,)', { t: [0, 0, 1] }],
  ['[0] * -1', []],
  ['[]', []],
  ['[1, [2, (3,)],]', [1, [2, { t: [3] }]]],
  ['()', { t: [] }],
  ['(1,)', { t: [1] }],
  ['(1)', 1],
  ['{}', { d: [] }],
  [
    "{'a': 1, 'b': [2]}",
    {
      d: [
        ['a', 1],
        ['b', [2]],
      ],
    },
  ],
  ['{1: 2, 1.0: 3, True: 4}', { d: [[1, 4]] }],
  ['{1, 2, 1, True}', { s: [1, 2] }],
  ['set()', { s: [] }],
  ['frozenset([1, 1])', { s: [1] }],
  ['list()', []],
  ['list(range(3))', [0, 1, 2]],
  ['list(range(5, 0, -2))', [5, 3, 1]],
  ['tuple("ab")', { t: ['a', 'b'] }],
  ['((1, # one\n 2),)', { t: [{ t: [1, 2] }] }],
];

const REFUSED = [
  '',
  '# only a comment',
  'x',
  'f(1)',
  '1; 2',
  '1 2',
  '(1',
  '[1,,2]',
  '012',
  '1__0',
  "'a",
  "'\\N{BULLET}'",
  "f'{x}'",
  '[*a]',
  '{**a}',
  '{[1]: 2}',
  '{[1]}',
  "b'a' 'c'",
  "b'\u00e9x\u20ac'",
  'not True',
  '1 < 2',
  '1 if x else 2',
  '[x for x in y]',
  'lambda: 1',
  '1/0',
  '1 % 0',
  '"a" + 1',
  '10**5000',
  '"a" * 10**6',
  '[0] * 10**5',
  '[[0] * 9999] * 9',
  'list(range(10**6))',
  'range(3)',
  '1 << 9999',
  `${'['.repeat(80)}${']'.repeat(80)}`,
  'os.system("id")',
  '__import__("os")',
  'a[0]',
  'float("x")',
  'list(range(1, 2, 0))',
];

describe('parsePythonLiteral', () => {
  for (const [source, value] of ACCEPTED) {
    it(`reads ${JSON.stringify(source)}`, () => {
      assert.deepEqual(parsePythonLiteral(source), value);
      assert.ok(valueSchema.safeParse(parsePythonLiteral(source)).success);
    });
  }

  it('refuses text that needs evaluation, does not parse or is too large in one coded line', () => {
    for (const source of REFUSED) {
      assert.throws(
        () => parsePythonLiteral(source),
        (error) => error instanceof GauntletError && error.code === 'BAD_INPUT' && !error.message.includes('\n'),
        source,
      );
    }
  });

  it('limits the data that short text produces', () => {
    const bombs = [`[${'[0]*9999,'.repeat(2000)}]`, `[${'"a"*9999,'.repeat(2000)}]`, `[${'2**4000,'.repeat(2000)}]`];
    for (const bomb of bombs) assert.throws(() => parsePythonLiteral(bomb), /200000 values/);
  });

  it('never throws anything but its coded error', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parsePythonLiteral(text);
        } catch (error) {
          assert.ok(error instanceof GauntletError, String(error));
        }
      }),
      { numRuns: 300 },
    );
  });
});

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.maxSafeInteger().map((n) => (Object.is(n, -0) ? 0 : n)),
  fc.string({ unit: 'binary' }),
  fc.string(),
  finite.map((x): Value => ({ f: floatRepr(x) })),
  fc.constantFrom<Value>({ f: 'inf' }, { f: '-inf' }, { f: 'nan' }),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 200n }).map((n): Value => ({ i: `0x${n.toString(16)}` })),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 200n }).map((n): Value => ({ i: `-0x${n.toString(16)}` })),
  fc.uint8Array({ maxLength: 20 }).map((bytes): Value => ({ b: Buffer.from(bytes).toString('base64') })),
);
const anyValue = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(tie('value'), { maxLength: 4 }).map((t): Value => ({ t })),
    fc.uniqueArray(fc.string(), { maxLength: 4 }).map((s): Value => ({ s })),
    fc
      .uniqueArray(fc.tuple(fc.string(), tie('value')), { maxLength: 4, selector: ([key]) => key })
      .map((d): Value => ({ d })),
  ),
})).value;

describe('formatValue', () => {
  it('prints values as Python does', () => {
    const cases: [Value, string][] = [
      [null, 'None'],
      [true, 'True'],
      [{ t: [1] }, '(1,)'],
      [{ t: [] }, '()'],
      [{ t: [1, 'a'] }, "(1, 'a')"],
      [{ s: [] }, 'set()'],
      [{ s: [1, 2] }, '{1, 2}'],
      [{ d: [['a', null]] }, "{'a': None}"],
      [{ i: '0x20000000000000' }, '9007199254740992'],
      [{ f: 'nan' }, "float('nan')"],
      [{ f: '1e+16' }, '1e+16'],
      [{ b: 'YQD/' }, "b'a\\x00\\xff'"],
      [{ c: ['1.0', '-2.0'] }, '(1.0-2.0j)'],
      ["it's", '"it\'s"'],
      ['a\n\\', "'a\\n\\\\'"],
      ['\u0000\u00ad\ud800', "'\\x00\\xad\\ud800'"],
    ];
    for (const [value, text] of cases) assert.equal(formatValue(value), text);
    assert.equal(formatArguments([[1], 'k']), "([1], 'k')");
  });

  it('is read back as the same value', () => {
    fc.assert(
      fc.property(anyValue, (value) => assert.deepEqual(parsePythonLiteral(formatValue(value)), value)),
      { numRuns: 300 },
    );
  });
});

describe('floatRepr and base64', () => {
  it('a float keeps its value through its repr', () => {
    fc.assert(fc.property(finite, (x) => Object.is(Number(floatRepr(x)), x)));
    const known: [number, string][] = [
      [1, '1.0'],
      [1e15, '1000000000000000.0'],
      [1e16, '1e+16'],
      [0.0001, '0.0001'],
      [0.00001, '1e-05'],
      [1.5e300, '1.5e+300'],
      [-123.25, '-123.25'],
      [5e-324, '5e-324'],
    ];
    for (const [x, text] of known) assert.equal(floatRepr(x), text);
  });

  it('base64 agrees with Buffer both ways', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const text = Buffer.from(bytes).toString('base64');
        assert.equal(toBase64([...bytes]), text);
        assert.equal(fromBase64(text), Buffer.from(bytes).toString('latin1'));
        assert.equal(fromBase64(`?${text.replace(/=/g, '')}\n`), Buffer.from(bytes).toString('latin1'));
      }),
    );
  });
});
