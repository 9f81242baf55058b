// Fuzzes data from guests and tests that discriminators write. GAUNTLET_FUZZ sets the number of cases.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { equalValues, judge } from '../../core/comparison/compare.js';
import { salvageTests } from '../../core/parse/salvage.js';
import { type CallResult, callResultSchema } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import { GuestChannel, GuestLost, type ResolvedJob } from '../../sandbox/guest/channel.js';
import { encodeFrame, type GuestCall, MAGIC, toCallResult } from '../../sandbox/guest/frames.js';
import { isPlainValue } from '../../sandbox/guest/values.js';
import { checkAnswer, checkNames, checkTester } from '../../sandbox/testSource/exchange.js';

const numRuns = Number(process.env.GAUNTLET_FUZZ ?? 300);
const seed = Number(process.env.GAUNTLET_FUZZ_SEED ?? 20_260_101);
const check = (property: Parameters<typeof fc.assert>[0]) => fc.assert(property as never, { numRuns, seed });

const limits = { cpuSeconds: 1, caseCpuSeconds: 1, wallSeconds: 1, memoryMb: 256, outputBytes: 100 };
const jobOf = (n: number): ResolvedJob => ({ id: `j${n}`, code: '', entry: 'f', inputs: [[1], [2], [3]], limits });
const ready = Buffer.concat([Buffer.from(MAGIC, 'latin1'), encodeFrame({ ready: true })]);
const EXPECTED = 'what no guest was ever told';

const json = fc.jsonValue({ maxDepth: 4, noUnicodeString: false } as never);
const text = fc.oneof(
  fc.string(),
  json.map((value) => JSON.stringify(value)),
  json.map((value) => JSON.stringify({ v: value })),
  fc.constantFrom(
    '{"v":1,"v":2}',
    '{"v":-0}',
    '{"v":1e999}',
    '{"v":{"__proto__":[]}}',
    `{"v":${'['.repeat(9999)}}`,
    '{"e":{}}',
  ),
);
const call: fc.Arbitrary<unknown> = fc.tuple(
  fc.oneof(fc.constantFrom('answer', 'load', 'error', 'timeout', 'memory', 'output'), fc.string()),
  fc.oneof(text, json),
);
const number = fc.oneof(fc.integer({ min: -1, max: 3 }), fc.double(), fc.constant('1'));
const message = fc.oneof(
  json,
  fc.record({ id: number, call }),
  fc.record({ id: number, call, cpu: number }),
  fc.record({ id: number, loaded: number }),
  fc.record({
    id: number,
    calls: fc.array(call, { maxLength: 4 }),
    ms: number,
    cpu: number,
    wall: fc.boolean(),
    retire: fc.boolean(),
  }),
);
/** The frames of a guest, sometimes with a wrong number of calls. */
const goodCall = fc.tuple(fc.constantFrom('answer', 'answer', 'error', 'timeout'), text);
const good = fc
  .tuple(fc.constantFrom(1, 1, 2), fc.array(goodCall, { minLength: 3, maxLength: 3 }), fc.nat(20))
  .map(([id, calls, cut]) =>
    cut < 3
      ? Buffer.concat([
          encodeFrame({ id, loaded: 1 }),
          ...calls.slice(0, cut).map((one) => encodeFrame({ id, call: one, cpu: 1 })),
          encodeFrame({ id, calls: calls.slice(cut), ms: 1, cpu: 1, wall: false, retire: false }),
        ])
      : encodeFrame({
          id,
          calls: calls.slice(0, cut === 3 ? 2 : 3),
          ms: 1,
          cpu: 1,
          wall: cut === 4,
          retire: cut === 5,
        }),
  );
const frame = fc.oneof(
  { weight: 6, arbitrary: good },
  { weight: 6, arbitrary: message.map((body) => encodeFrame(body ?? null)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat(0xffffffff), fc.string())
      .map(([n, body]) => Buffer.concat([head(n), Buffer.from(body)])),
  },
);
function head(size: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(size);
  return bytes;
}
/** A stream of frames with some changed bytes, which is cut at random positions. */
const stream = fc
  .tuple(
    fc.array(frame, { maxLength: 8 }),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 }),
    fc.array(fc.nat(), { maxLength: 5 }),
  )
  .map(([frames, changes, cuts]) => {
    const bytes = Buffer.concat(frames);
    for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value;
    const places = [...new Set(cuts.map((at) => at % (bytes.length + 1)))].sort((a, b) => a - b);
    return [...places, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : places[i - 1], end));
  });

describe('random bytes from a guest', () => {
  it('give every job one valid result per call, or end the guest', async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(stream, async (pieces) => {
        const channel = new GuestChannel({ write: () => {}, destroy: () => {} }, 100);
        channel.feed(ready);
        const jobs = [jobOf(1), jobOf(2)];
        const runs = jobs.map((job) => channel.run(job));
        const ends = runs.map((run) =>
          run.then(
            (value) => ({ value }),
            (error: unknown) => ({ error }),
          ),
        );
        for (const piece of pieces) channel.feed(piece);
        channel.end('the stream is over');
        for (const end of await Promise.all(ends)) {
          if ('error' in end) assert.ok(end.error instanceof GuestLost);
          else {
            answered++;
            assert.equal(end.value.calls.length, 3);
            for (const result of end.value.calls) {
              assert.equal(
                result.kind === 'value' ? isPlainValue(result.value) : callResultSchema.safeParse(result).success,
                true,
              );
              assert.notEqual(judge(result as CallResult, EXPECTED, 'lenient'), 'pass');
            }
          }
        }
        assert.ok(!channel.usable);
      }),
      { numRuns, seed },
    );
    assert.ok(answered > numRuns / 10, `only ${answered} jobs were answered`);
  });

  it('form a greeting that is accepted or refused', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 60 }),
          message.map((m) => Buffer.concat([Buffer.from(MAGIC), encodeFrame(m ?? null)])),
        ),
        async (bytes) => {
          const channel = new GuestChannel({ write: () => {}, destroy: () => {} }, 1);
          channel.feed(Buffer.from(bytes));
          channel.end('over');
          await channel.ready.then(
            (greeting) => assert.equal(greeting.ready, true),
            (error) => assert.ok(error instanceof Error),
          );
        },
      ),
      { numRuns, seed },
    );
  });

  it('form an answer that is a valid value or an error, and can be judged', () => {
    const expected = json.filter(isPlainValue);
    check(
      fc.property(
        fc.tuple(fc.constantFrom('answer' as const, 'load' as const), text),
        expected,
        ([kind, body], wanted) => {
          const result = toCallResult([kind, body] as GuestCall);
          if (result.kind === 'value') assert.ok(kind === 'answer' && isPlainValue(result.value));
          for (const comparison of ['lenient', 'strict', { order: 'any-depth' }, { order: 'set' }] as const) {
            const verdict = judge(result, wanted as Value, comparison);
            if (result.kind !== 'value') assert.equal(verdict, result.kind);
          }
        },
      ),
    );
  });
});

describe('random messages between tests and a program', () => {
  const tagged = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      json,
      fc.tuple(fc.constantFrom(...'rzqlghuysdtfibcak'), tie('value')).map(([tag, x]) => ({ [tag]: x })),
      fc.array(tie('value'), { maxLength: 4 }),
    ),
  })).value;
  const said = fc.oneof(
    fc.string(),
    tagged.map((x) => JSON.stringify(x)),
    fc
      .tuple(
        fc.constantFrom('v', 'x', 'm', 'w', 'k', 'dead', 'names', 'e', 'q', 'tests', 'begin', 'end', 'done'),
        tagged,
      )
      .map(([key, x]) => JSON.stringify({ [key]: x })),
    tagged.map((x) => JSON.stringify({ v: x, w: [[0, [x]]] })),
    tagged.map((x) => JSON.stringify({ q: ['call', { g: 'f' }, null, [x], {}, [0, [], []]] })),
  );

  it('have a known shape or are refused, and never claim that a program ended', () => {
    let taken = 0;
    check(
      fc.property(said, (written) => {
        const answer = checkAnswer(written);
        if (answer) {
          taken++;
          const parsed = JSON.parse(written) as Record<string, unknown>;
          assert.ok(Object.keys(parsed).every((key) => 'vxmwk'.includes(key)) && !('dead' in parsed), written);
        }
        const names = checkNames(written);
        if (names.kind === 'names') assert.ok(Array.isArray((JSON.parse(written) as { names: unknown }).names));
        const message = checkTester(written);
        if (message) assert.equal(Object.keys(message).length, 1);
      }),
    );
    assert.ok(taken > numRuns / 50, `only ${taken} were taken`);
  });
});

// ---- the output of a discriminator, from text to verdict ----
const literal = fc.oneof(
  fc.integer().map(String),
  fc.double().map((x) => (Number.isFinite(x) ? String(x) : 'float("nan")')),
  fc.constantFrom(
    'None',
    'True',
    'null',
    'true',
    '[]',
    '()',
    '{}',
    'set()',
    '""',
    "'a'",
    '[1, 2]',
    '{1: 2}',
    '{1, 2}',
    '1 / 0',
    '2 ** 99',
    'x',
    '-0.0',
    '1e400',
    '"\\ud800"',
  ),
  fc.string().map((s) => JSON.stringify(s)),
);
const pieces = fc.array(
  fc.oneof(
    fc.tuple(literal, literal).map(([a, b]) => `((${a},), ${b})`),
    fc.tuple(literal, literal).map(([a, b]) => `assert f(${a}) == ${b}`),
    fc.tuple(literal, literal).map(([a, b]) => `assert ${b} == f(${a})`),
    fc.tuple(literal, literal).map(([a, b]) => `def test_x():\n    assert f(${a}) == ${b}`),
    fc.constantFrom(
      '```python',
      '```',
      '[',
      ']',
      ',',
      '(',
      ')',
      '# a comment',
      'assert True',
      'assert f',
      '@pytest.mark.parametrize("a,b", [(1, 2)])',
      'f = lambda x: True',
      'class A:\n  __eq__ = lambda s, o: True',
      '"""',
      "'",
    ),
    fc.string(),
  ),
  { maxLength: 12 },
);
const output = fc.tuple(pieces, fc.constantFrom('\n', ',\n', ' ', '')).map(([parts, glue]) => parts.join(glue));

describe('random output of a discriminator', () => {
  /** The reference doubles ints and returns other values unchanged; the wrong program never agrees with it. */
  const reference = (value: Value): Value => (typeof value === 'number' ? value * 2 : [value]);
  const wrong = (value: Value): Value => ({ t: [reference(value), 'wrong'] });

  it('is read into plain values up to the limit', () => {
    check(
      fc.property(output, (written) => {
        const { tests, rejected } = salvageTests(written, { entry: 'f', arity: 1, limit: 5 });
        assert.ok(tests.length <= 5 && rejected.length <= 64);
        for (const { args, expected } of tests)
          assert.ok(args.length === 1 && isPlainValue(args[0]) && isPlainValue(expected));
      }),
    );
  });

  it('never lets a wrong program pass a test that the reference passes', () => {
    let valid = 0;
    check(
      fc.property(output, (written) => {
        for (const { args, expected } of salvageTests(written, { entry: 'f', arity: 1, limit: 8 }).tests)
          for (const comparison of ['lenient', 'strict'] as const) {
            const right = reference(args[0]!);
            if (!isPlainValue(right) || !equalValues(right, expected, comparison)) continue;
            valid++;
            assert.equal(judge({ kind: 'value', value: wrong(args[0]!) }, expected, comparison), 'fail', written);
          }
      }),
    );
    // random tests rarely agree with the reference, so some are constructed
    check(
      fc.property(fc.integer({ min: -(10 ** 6), max: 10 ** 6 }), output, (n, noise) => {
        const written = `${noise.replace(/["'([{]/g, ' ')}\n\n((${n},), ${2 * n})\n`;
        for (const { args, expected } of salvageTests(written, { entry: 'f', arity: 1, limit: 50 }).tests)
          if (equalValues(reference(args[0]!), expected, 'lenient')) {
            valid++;
            assert.equal(judge({ kind: 'value', value: wrong(args[0]!) }, expected, 'lenient'), 'fail');
          }
      }),
    );
    assert.ok(valid > numRuns / 2, `only ${valid} valid tests were judged`);
  });
});
