import assert from 'node:assert/strict';
import fc from 'fast-check';
import { GauntletError } from '../../core/base/errors.js';
import { formatArguments, formatValue } from '../../core/parse/format.js';
import { parsePythonLiteral } from '../../core/parse/literal.js';
import { floatRepr } from '../../core/parse/numbers.js';
import { fromBase64, toBase64 } from '../../core/parse/text.js';
import { type Value, valueSchema } from '../../core/schema/value.js';
import { rowsOf } from '../support/rows.js';

const ACCEPTED = rowsOf<[source: string, value: Value]>('core/literals.jsonl'); // the values of CPython 3.12
const REFUSED = rowsOf<string>('core/refusedLiterals.jsonl');

describe('parsePythonLiteral', () => {
  for (const [source, value] of ACCEPTED) {
    it(`reads ${JSON.stringify(source)}`, () => {
      assert.deepEqual(parsePythonLiteral(source), value);
      assert.ok(valueSchema.safeParse(parsePythonLiteral(source)).success);
    });
  }

  it('refuses text that needs evaluation, does not parse or is too large, with a one-line error code', () => {
    for (const source of REFUSED) {
      assert.throws(
        () => parsePythonLiteral(source),
        (error) => error instanceof GauntletError && error.code === 'BAD_INPUT' && !error.message.includes('\n'),
        source,
      );
    }
  });

  it('limits the amount of data that a short text produces', () => {
    const bombs = [`[${'[0]*9999,'.repeat(2000)}]`, `[${'"a"*9999,'.repeat(2000)}]`, `[${'2**4000,'.repeat(2000)}]`];
    for (const bomb of bombs) assert.throws(() => parsePythonLiteral(bomb), /200000 values/);
  });

  it('throws only errors with its own code', () => {
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

  it('writes text that is read back as the same value', () => {
    fc.assert(
      fc.property(anyValue, (value) => assert.deepEqual(parsePythonLiteral(formatValue(value)), value)),
      { numRuns: 300 },
    );
  });
});

describe('the functions floatRepr and base64', () => {
  it('keep the value of a float', () => {
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

  it('agree with Buffer in both directions', () => {
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
