// Type checks: the pool with fake guests, and the real checker with programs that try to deceive or stop it.
import assert from 'node:assert/strict';
import { GauntletError } from '../../core/errors.js';
import type { TypeReport } from '../../core/schema/execution.js';
import { openDocker } from '../../sandbox/docker/openDocker.js';
import { type Guest, GuestLost, type SessionEnd } from '../../sandbox/guest/channel.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { TypePool } from '../../sandbox/typeCheck/typePool.js';
import { openWasm } from '../../sandbox/wasm/openWasm.js';
import { requireDocker } from './docker.js';

const OK = '{"verdict":"ok","errors":0,"messages":[]}';
const CANARY = '{"verdict":"errors","errors":1,"messages":[]}';
const END: SessionEnd = { kind: 'end', message: '', used: 0, wallHit: false };

/** A pool of guests whose child returns `act(code)`: what it wrote and how it ended, or a lost guest. */
function poolOf(act: (code: string) => { said?: string[]; end?: SessionEnd } | GuestLost, patienceMs?: number) {
  const seen: string[] = [];
  const closed: number[] = []; // programs checked by then
  const open = async (): Promise<Guest> => {
    let usable = true;
    return {
      get usable() {
        return usable;
      },
      fits: () => true,
      run: () => Promise.reject(new Error('no values here')),
      open(spec, _limits, onText) {
        assert.ok(spec.role === 'types');
        seen.push(spec.code);
        const acted = spec.code.includes('def canary') ? { said: [CANARY] } : act(spec.code);
        const ended = new Promise<SessionEnd>((resolve, reject) => {
          setImmediate(() => {
            if (acted instanceof GuestLost) {
              usable = false;
              return reject(acted);
            }
            for (const text of acted.said ?? []) onText(text);
            resolve(acted.end ?? END);
          });
        });
        return { send: () => {}, end: () => {}, ended };
      },
      close: async () => void closed.push(seen.length),
    };
  };
  return { pool: new TypePool({ size: 1, open, ...(patienceMs === undefined ? {} : { patienceMs }) }), seen, closed };
}

const one = async (pool: TypePool, code = 'x = 1'): Promise<TypeReport> => (await pool.run([{ id: 'a', code }]))[0]!;

describe('the pool of type checks', () => {
  it('returns answers in order and does not check a program that is too long', async () => {
    const { pool, seen } = poolOf((code) => ({ said: [code === 'good' ? OK : CANARY] }));
    const huge = 'x'.repeat(200_001);
    const reports = await pool.run(['good', huge, 'bad'].map((code, i) => ({ id: `${i}`, code })));
    assert.deepEqual(
      reports.map(({ id, verdict }) => [id, verdict]),
      [
        ['0', 'ok'],
        ['1', 'unchecked'],
        ['2', 'errors'],
      ],
    );
    assert.deepEqual(seen, ['good', 'bad']);
    assert.deepEqual(await pool.run([]), []);
  });

  it('ends its guests on close and refuses later programs', async () => {
    const { pool, closed } = poolOf(() => ({ said: [OK] }));
    await one(pool);
    assert.deepEqual(closed, []);
    await pool.close();
    assert.deepEqual(closed, [1]);
    await assert.rejects(one(pool), { code: 'SANDBOX_FAULT', message: /closed/ });
  });

  for (const [what, said] of [
    ['no JSON', ['ok']],
    ['an unknown verdict', [OK.replace('ok', 'fine')]],
    ['further fields', [OK.replace('{', '{"reward":1,')]],
    ['a count that is none', [OK.replace('0', '-1')]],
    ['more messages than asked for', [OK.replace('[]', '["","","","","",""]')]],
    ['an answer and another', [OK, OK]],
    ['nothing', []],
  ] as const)
    it(`does not accept ${what} as an answer`, async () => {
      const { pool } = poolOf(() => ({ said: [...said] }));
      assert.equal((await one(pool)).verdict, 'unchecked');
    });

  it('reports a program at a limit as unchecked, at the wall clock only after a second run', async () => {
    const limit: SessionEnd = {
      kind: 'timeout',
      message: 'no answer within the limit of CPU time',
      used: 5,
      wallHit: false,
    };
    const { pool } = poolOf(() => ({ end: limit }));
    const { verdict, messages } = await one(pool);
    assert.deepEqual([verdict, messages], ['unchecked', ['timeout: no answer within the limit of CPU time']]);
    let slow = 0;
    const again = poolOf(() => (slow++ === 0 ? { end: { ...limit, wallHit: true } } : { said: [OK] }));
    assert.equal((await one(again.pool)).verdict, 'ok');
  });

  it('reports a program that ends two guests as unchecked, and an outage as a fault', async () => {
    const { pool, seen } = poolOf(() => new GuestLost('gone', true));
    assert.equal((await one(pool)).verdict, 'unchecked');
    assert.deepEqual(
      seen.map((code) => code.includes('canary')),
      [false, false, true],
    );
    const outage = poolOf(() => new GuestLost('gone', true, 'infrastructure'), 0);
    await assert.rejects(one(outage.pool), (error) => error instanceof GauntletError && error.code === 'SANDBOX_FAULT');
  });
});

describe('type checks in WebAssembly', () => {
  it('are refused in one line, even without a program', async function () {
    this.timeout(60_000);
    const sandbox = await openWasm({ size: 1 });
    try {
      await assert.rejects(sandbox.checkTypes([]), (error) => {
        assert.ok(error instanceof GauntletError && error.code === 'SANDBOX_UNAVAILABLE');
        assert.match(error.message, /^type checks need Docker: .*mypy$/);
        return true;
      });
    } finally {
      await sandbox.close();
    }
  });
});

const WRONG = 'def f(x: int) -> str:\n    return x\n';
const nested = (n: number): string =>
  `from typing import Tuple\nT0 = Tuple[int, int]\n${Array.from({ length: n }, (_, i) => `T${i + 1} = Tuple[T${i}, T${i}]\n`).join('')}x: T${n} = (1, 2)\n`;

/** [description, program, verdict] */
const CASES: [string, string, TypeReport['verdict']][] = [
  ['a program with right annotations', 'def f(x: int) -> int:\n    return x + 1\n', 'ok'],
  ['a program without annotations', 'def f(x):\n    return x + 1\n', 'ok'],
  [
    'the library',
    'import heapq\nfrom collections import deque\nd: deque[int] = deque()\nheapq.heappush([1], 2)\n',
    'ok',
  ],
  ['a library that is not known', 'import numpy as np\nimport nowhere\ny: int = np.sum(nowhere.x)\n', 'ok'],
  ['a wrong annotation', WRONG, 'errors'],
  ['an error in a function without annotations', 'def f(x):\n    y = 1\n    y = "a"\n    return y\n', 'errors'],
  ['a name that is not there', 'def f(x):\n    return sqrt(x)\n', 'errors'],
  ['no Python', 'def f(x:\n', 'unparsed'],
  ['a null byte', 'x = 1\0', 'unparsed'],
  ['half a surrogate pair', 'x = "\ud800"', 'unparsed'],
  ['options in a comment', `# mypy: ignore-errors\n${WRONG}`, 'errors'],
  ['options in a text', `"""\n# mypy: ignore-errors\n"""\n${WRONG}`, 'errors'],
  ['a plugin in a comment', `# mypy: plugins=/tmp/program, python-version=2.7\n${WRONG}`, 'errors'],
  ['ignored lines', 'x: int = ""  # type: ignore\n', 'errors'],
  ['an ignored file', `#type:ignore[misc]\n${WRONG}`, 'errors'],
  ['ignored after a comment of a type', 'def f(x: int):\n    y = x + ""  # type: int # type:\fignore\n', 'errors'],
  ['another encoding, in which a comment is an instruction', 'x: int = ""  # t+AHk-pe: ignore\n', 'errors'],
  ['the same, declared', '# coding: utf-7\nx: int = ""  # t+AHk-pe: ignore\n', 'errors'],
  ['lines that end in a carriage return', '# a\r# coding: utf-7\rx: int = ""  # t+AHk-pe: ignore\r', 'errors'],
  ['an import of the file that is checked', `import program, __main__, tmp.program\n${WRONG}`, 'errors'],
  ['a type within itself', 'from typing import Tuple\nT = Tuple["T", "T"]\nx: T = (1, 2)\n', 'errors'],
  ['types that double', nested(40), 'unchecked'],
  ['brackets beyond the parser', `${'-'.repeat(60_000)}1`, 'unchecked'],
  ['a sum beyond the stack', `x = ${'1+'.repeat(20_000)}1`, 'unchecked'],
  ['a megabyte', 'x = 1\n'.repeat(200_000), 'unchecked'],
];

for (const isolation of ['uid', 'strict'] as const) {
  describe(`type checks on Docker, isolation ${isolation}`, function () {
    this.timeout(180_000);
    let sandbox: Sandbox;
    before(async function () {
      await requireDocker(this);
      sandbox = await openDocker({ size: 2, isolation });
      await sandbox.checkTypes([]);
    });
    after(() => sandbox?.close());

    const some = isolation === 'uid' ? CASES : CASES.filter(([what]) => /right|wrong|no Python/.test(what));
    it('find type errors, and no program deceives or stops the checker', async () => {
      const reports = await sandbox.checkTypes(some.map(([id, code]) => ({ id, code })));
      assert.deepEqual(
        reports.map(({ id, verdict, messages }) => [id, verdict, verdict === 'ok' ? messages : []]),
        some.map(([what, , verdict]) => [what, verdict, []]),
      );
    });

    if (isolation === 'strict') return;

    it('count errors and report the first five with their lines', async () => {
      const wrong = Array.from({ length: 21 }, (_, i) => `x${i}: int = ""\n`).join('');
      const [report] = await sandbox.checkTypes([{ id: 'a', code: wrong }]);
      assert.deepEqual([report!.errors, report!.messages.length], [21, 5]);
      assert.match(report!.messages[1]!, /^line 2: Incompatible types in assignment/);
    });

    it('see no names and errors of another program', async () => {
      const define = 'import builtins\nsecret: int = 1\nbuiltins.shown = 1\nclass int: pass\n';
      const use = 'import __main__\nprint(secret, __main__.secret, shown)\nn: int = 1\n';
      const alone = (await sandbox.checkTypes([{ id: 'a', code: use }]))[0]!;
      const codes = [define, define, WRONG, WRONG, use, use];
      const after = await sandbox.checkTypes(codes.map((code) => ({ id: 'a', code })));
      assert.deepEqual(after.slice(4), [alone, alone]);
      assert.equal(alone.verdict, 'errors');
    });
  });
}
