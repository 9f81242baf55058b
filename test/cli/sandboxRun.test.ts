// `gauntlet sandbox run` reads rows and prints outcomes in the same order; it prints one line for an invalid row.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { inOrder } from '../../cli/input/ordered.js';
import { EXIT } from '../../cli/terminal/exitCodes.js';
import { openRowBar } from '../../cli/terminal/rowBar.js';
import { pluck } from '../support/pluck.js';
import { gauntlet, inProcess, removeFolders, temporaryFolder } from './support.js';

const ROWS = [
  { id: 'good', code: 'def f(x):\n    return x + 1', entry: 'f', tests: [[[1], 2]] },
  {
    id: 'wrong',
    code: 'def f(x):\n    return x',
    entry: 'f',
    tests: [
      [[1], 2],
      [[{ f: '2.0' }], 2],
    ],
  }, // prettier-ignore
  { id: 'raises', code: 'def f(x):\n    return x[0]', entry: 'f', tests: [[[1], 2]] },
  {
    id: 'loops',
    code: 'def f(x):\n    while x: pass',
    entry: 'f',
    tests: [
      [[0], null],
      [[1], null],
    ], // prettier-ignore
    limits: { cpuSeconds: 0.2 },
  },
  { id: 'strict', code: 'def f(x):\n    return (x,)', entry: 'f', tests: [[[1], [1]]], comparison: 'strict' },
];
/** Rows with numbers that JSON.stringify would write in another form. */
const NUMBERS = [
  `{"id":"arguments","code":"def f(*x): return [type(y).__name__ for y in x]","entry":"f","tests":[[
    [3.0, -0.0, 1e3, 1E16, NaN, -Infinity, 12345678901234567890, 1, true],
    ["float", "float", "float", "float", "float", "float", "int", "int", "bool"]]]}`,
  `{"id":"inside","code":"def f(x): return x","entry":"f","comparison":"strict","tests":[
    [[{"t": [1.0, {"s": [2.0]}]}], {"t": [{"f": "1.0"}, {"s": [{"f": "2.0"}]}]}],
    [[{"d": [[1.0, 2.0], ["10", 3]]}], {"d": [[1.0, 2.0], ["10", 3]]}], [[1], 1.0], [[1.0], 1]]}`,
  `{"id":"close","code":"def f(x): return x","entry":"f","tests":[
    [[0.9999999999999], 1.0], [[0.9999999999999], 1], [[0.999], 1.0]],"limits":{"cpuSeconds":2.5}}`,
].map((row) => row.replace(/\n\s*/g, ' '));
const lines = (rows: unknown[]): string => rows.map((row) => JSON.stringify(row)).join('\n');
interface Judged {
  id: string;
  outcome: string;
  tests: string[];
  ms: number;
}
const parsed = (text: string): Judged[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Judged);

describe('gauntlet sandbox run', () => {
  after(removeFolders);

  describe('with --json', () => {
    let judged: Judged[];
    let err: string;
    before(async () => {
      const folder = await temporaryFolder({ 'rows.jsonl': `${lines(ROWS)}\n${NUMBERS.join('\n')}` });
      const ended = await inProcess(
        ...['sandbox', 'run', '--sandbox', 'wasm', '--parallel', '1', '--cpu-seconds', '30'],
        ...['--input', join(folder, 'rows.jsonl'), '--json'],
      );
      assert.equal(ended.code, 0, ended.err);
      judged = parsed(ended.out);
      err = ended.err;
    });

    it('judges each test and each program in the order of the rows, and lets limits of a row override others', () => {
      assert.deepEqual(pluck(judged.slice(0, ROWS.length), 'id', 'outcome', 'tests'), [
        ['good', 'pass', ['pass']],
        ['wrong', 'fail', ['fail', 'pass']],
        ['raises', 'error', ['error']],
        ['loops', 'timeout', ['pass', 'timeout']],
        ['strict', 'fail', ['fail']],
      ]);
      assert.ok(judged.every(({ ms }) => ms > 0));
      assert.match(err, /wasm · .* 1 process .*\n8 programs: 2 pass, 4 fail, 1 error, 1 timeout\n$/);
    });

    it('keeps the types of numbers in tests: 1.0 is a float at every depth', () => {
      assert.deepEqual(pluck(judged.slice(ROWS.length), 'id', 'tests'), [
        ['arguments', ['pass']],
        ['inside', ['pass', 'pass', 'fail', 'fail']],
        ['close', ['pass', 'fail', 'fail']],
      ]);
    });
  });

  it('prints one readable line per program, and escapes control characters of ids and errors', async () => {
    const code = 'def f(x):\n    raise ValueError("\\x1b]0;title\\x07")';
    const row = { id: 'a\u001b[2J', code, entry: 'f', tests: [[[1], 2]] };
    const folder = await temporaryFolder({ 'rows.jsonl': lines([ROWS[0], ROWS[4], row]) });
    const { out, err } = await inProcess(
      ...['sandbox', 'run', '--sandbox', 'wasm', '--parallel', '1', '--input', join(folder, 'rows.jsonl')],
    );
    const [good, wrong, raises] = out.split('\n');
    assert.match(good!, /^pass {5}good \(pass; .* ms\)$/, err);
    assert.match(wrong!, /^fail {5}strict \(fail; .* ms\)$/);
    assert.match(raises!, /^error +a\\u\{1b\}\[2J .*ValueError: \\u\{1b\}\]0;title\\u\{7\}$/);
  });

  it('takes the limits of all rows from flags, and writes the output file atomically', async () => {
    const [, , , loops] = ROWS;
    const folder = await temporaryFolder({ 'rows.jsonl': lines([{ ...loops, limits: undefined }]) });
    const to = join(folder, 'out.jsonl');
    const { code, out } = await inProcess(
      ...['sandbox', 'run', '--sandbox', 'wasm', '--parallel', '1', '--cpu-seconds', '0.2'],
      ...['--input', join(folder, 'rows.jsonl'), '--output', to],
    );
    assert.deepEqual([code, out], [0, '']);
    const [judged] = parsed(await readFile(to, 'utf8'));
    assert.deepEqual([judged!.id, judged!.outcome], ['loops', 'timeout']);
    assert.ok(judged!.ms < 5000, `${judged!.ms} ms`);
  });

  for (const [title, args, rows, message] of [
    ['an empty file', [], '', /rows\.jsonl: has no rows/],
    ['a line that is not JSON', [], `${lines(ROWS)}\n{`, /rows\.jsonl: line 6: not JSON/],
    ['a missing field', [], '{"id":"a","entry":"f","tests":[[[1],1]]}', /line 1: code: is missing/],
    ['a field of another type', [], '{"id":"a","code":1,"entry":"f","tests":[[[1],1]]}', /line 1: code: .*string/],
    [
      'an object that is no tagged value',
      [],
      '{"id":"a","code":"","entry":"f","tests":[[[{"a": 1.0}],1]]}',
      /line 1: tests\.0.*: is not a value of the tagged codec/,
    ],
    [
      'test source in mode values',
      [],
      '{"id":"a","code":"","test_source":"assert 1"}',
      /line 1: tests: is missing; .* --mode assert or pytest/,
    ],
    ['values in mode pytest', ['--mode', 'pytest'], lines(ROWS), /line 1: test_source: is missing; .* --mode values/],
    [
      'two files in mode assert',
      ['--mode', 'assert'],
      '{"id":"a","code":"","files":{"a.py":"","b.py":""}}',
      /line 1: files: mode assert takes one file, got 2/,
    ],
    [
      'a file outside of the program folder',
      ['--mode', 'pytest'],
      '{"id":"a","code":"","files":{"a/../../b.py":""}}',
      /line 1: files\..*relative path/,
    ],
    ['an unknown limit of a row', [], lines([{ ...ROWS[0], limits: { cpu: 1 } }]), /line 1: limits: .*cpu/],
    [
      'a bad limit option',
      ['--memory-mb', '0'],
      lines(ROWS),
      /'--memory-mb <n>' argument '0' is invalid\. It is not a whole number from 32 to 1048576/,
    ],
    [
      'an unknown mode',
      ['--mode', 'doctest'],
      lines(ROWS),
      /'doctest' is invalid\. Allowed choices are values, assert/,
    ],
  ] as const) {
    it(`refuses ${title} in one line before it opens a sandbox`, async () => {
      const folder = await temporaryFolder({ 'rows.jsonl': rows });
      const { code, out, err } = await inProcess('sandbox', 'run', ...args, '--input', join(folder, 'rows.jsonl'));
      assert.equal(code, 2);
      assert.equal(out, '');
      assert.match(err, message);
      assert.equal(err.trim().split('\n').length, 1, err);
    });
  }

  it('refuses in WebAssembly the options that only Docker has', async () => {
    const folder = await temporaryFolder({ 'rows.jsonl': lines(ROWS) });
    const { code, out, err } = await inProcess(
      ...['sandbox', 'run', '--sandbox', 'wasm', '--packages', 'numpy', '--input', join(folder, 'rows.jsonl')],
    );
    assert.deepEqual([code, out], [EXIT.unavailable, '']);
    assert.match(err, /packages 'numpy' requires --sandbox docker/);
  });

  it('refuses an output whose folder is missing, and an output that is not a file', async () => {
    const folder = await temporaryFolder({ 'rows.jsonl': lines(ROWS) });
    const to = join(folder, 'none', 'out.jsonl');
    const { code, err } = await inProcess(
      ...['sandbox', 'run', '--sandbox', 'wasm', '--input', join(folder, 'rows.jsonl'), '--output', to],
    );
    assert.equal(code, 2);
    assert.match(err, /--output .*: there is no folder/);
    assert.ok(!existsSync(to));
    for (const other of [folder, '/dev/null']) {
      const refused = await inProcess(
        ...['sandbox', 'run', '--sandbox', 'wasm', '--input', join(folder, 'rows.jsonl'), '--output', other],
      );
      assert.deepEqual(
        [refused.code, refused.err.includes(`--output ${other}: is not a file`)],
        [2, true],
        refused.err,
      );
    }
  });

  it('exits with code 130 at Ctrl-C', async () => {
    const slow = { ...ROWS[3], limits: { cpuSeconds: 20, wallSeconds: 60 } };
    const folder = await temporaryFolder({ 'rows.jsonl': lines([ROWS[0], slow]) });
    let sent = false;
    const ended = await gauntlet(
      ['sandbox', 'run', '--sandbox', 'wasm', '--parallel', '1', '--input', join(folder, 'rows.jsonl'), '--json'],
      {},
      (text, pid) => {
        if (sent || !text.includes('sandbox: wasm')) return;
        sent = true;
        setTimeout(() => process.kill(pid, 'SIGINT'), 500);
      },
    );
    assert.equal(ended.code, 130, ended.err);
    assert.match(ended.err, /stopped before the end\n$/);
  });
});

describe('inOrder', () => {
  async function* numbers(n: number, read: (i: number) => void = () => undefined): AsyncGenerator<number> {
    for (let i = 0; i < n; i++) {
      read(i);
      yield i;
    }
  }

  it('yields results in input order and reads no further than the window', async () => {
    let [reading, done] = [0, 0];
    const work = async (i: number): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, i % 3 === 0 ? 4 : 0));
      return i * 2;
    };
    const seen: number[] = [];
    for await (const value of inOrder(
      numbers(20, () => reading++),
      4,
      work,
    )) {
      assert.ok(reading - done <= 4, `${reading} read, ${done} done`);
      done++;
      seen.push(value);
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 20 }, (_, i) => i * 2),
    );
  });

  it('stops at the first error', async () => {
    const work = async (i: number): Promise<number> => {
      if (i >= 2) throw new Error(`fault ${i}`);
      return i;
    };
    const seen: number[] = [];
    await assert.rejects(async () => {
      for await (const value of inOrder(numbers(10), 4, work)) seen.push(value);
    }, /fault 2/);
    assert.deepEqual(seen, [0, 1]);
  });

  it('reports an error in order, even if it occurs while an earlier row is still running', async () => {
    const unheard: unknown[] = [];
    const hear = (reason: unknown) => unheard.push(reason);
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', hear);
    try {
      const work = async (i: number): Promise<number> => {
        if (i === 1) throw new Error('fault 1');
        await new Promise((resolve) => setImmediate(() => setImmediate(resolve))); // at this time, the error has occurred
        return i;
      };
      const seen: number[] = [];
      await assert.rejects(async () => {
        for await (const value of inOrder(numbers(10), 4, work)) seen.push(value);
      }, /fault 1/);
      assert.deepEqual([seen, unheard], [[0], []]);
    } finally {
      process.off('unhandledRejection', hear);
      for (const listener of others) process.on('unhandledRejection', listener);
    }
  });
});

describe('the row progress bar', () => {
  class Terminal extends Writable {
    text = '';
    readonly isTTY: boolean;
    readonly columns = 80;
    constructor(isTTY: boolean) {
      super();
      this.isTTY = isTTY;
    }
    override _write(chunk: Buffer, _: string, next: () => void): void {
      this.text += chunk.toString();
      next();
    }
    cursorTo = (): boolean => true;
    clearLine = (): boolean => true;
    moveCursor = (): boolean => true;
  }
  const open = (isTTY: boolean): Terminal => {
    const terminal = new Terminal(isTTY);
    const bar = openRowBar(8, 'programs', terminal as unknown as NodeJS.WriteStream);
    bar.update(2, '2 pass');
    bar.stop();
    return terminal;
  };

  it('shows the number of completed rows on a terminal', () => {
    assert.match(open(true).text, /█+░+ 2\/8 programs · 2 pass/);
  });

  it('prints nothing without a terminal', () => {
    assert.equal(open(false).text, '');
  });
});
