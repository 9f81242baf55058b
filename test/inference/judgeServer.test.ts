// The server of `gauntlet sandbox serve`: with its own Python client, with requests of other trainers, and with faults.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GauntletError } from '../../core/base/errors.js';
import { type JudgeServerOptions, judgeServer } from '../../inference/judgeServer.js';
import { type Listener, listen } from '../../infra/httpServer.js';
import { ROOT } from '../../infra/root.mjs';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { requireDocker } from '../sandbox/docker.js';
import { requirePython } from '../support/cpython.js';

const ADD = { code: 'def add(a, b): return a + b', entry: 'add' };
const RIGHT = [[1, 2], 3];

interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests compare its parts
  answer: any;
}

describe('the server that judges programs', () => {
  let listener: Listener | undefined;
  let token: string | undefined;
  let logged: string[];

  async function start(sandbox: Sandbox, changes: Partial<JudgeServerOptions> = {}): Promise<void> {
    logged = [];
    const options = { sandbox, host: '127.0.0.1', queue: 100, seconds: 60, memoryMb: 512, bodyBytes: 200, ...changes };
    const made = judgeServer({ ...options, log: (line) => logged.push(line) });
    token = made.token;
    listener = await listen(made.server, '127.0.0.1', 0);
  }
  afterEach(() => listener?.close());

  /** A sandbox whose every call does this. */
  const double = (run: () => Promise<never>): Sandbox => {
    return { info: { kind: 'docker', description: '', boundary: true }, run, runTests: run, close: async () => {} };
  };

  async function post(path: string, body: unknown): Promise<Answer> {
    const sent = { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) };
    const response = await fetch(`${listener!.origin}${path}`, sent);
    return { status: response.status, answer: await response.json(), headers: response.headers };
  }

  /** Runs Python code with the client of the repository. @returns what it prints */
  async function python(code: string): Promise<string> {
    const env = { ...process.env, PYTHONPATH: join(ROOT, 'sandbox'), URL: listener!.origin, TOKEN: token ?? '' };
    const text = `import os\nfrom gauntlet_judge import *\njudge = Judge(os.environ['URL'], os.environ['TOKEN'] or None, 5)\n${code}`;
    return (await promisify(execFile)('python3', ['-B', '-c', text], { env })).stdout.trim();
  }

  describe('with WebAssembly', () => {
    let sandbox: Sandbox;
    before(async () => {
      sandbox = await openSandbox('wasm', { size: 1 });
    });
    after(() => sandbox?.close());

    it('judges values and test source, and counts the verdicts', async () => {
      await start(sandbox);
      const values = await post('/judge', { ...ADD, tests: [RIGHT, [[1, 1], 3]] });
      assert.deepEqual([values.status, values.answer.outcome, values.answer.tests], [200, 'fail', ['pass', 'fail']]);
      const source = await post('/judge', { ...ADD, id: 'mine', test_source: 'assert add(1, 2) == 3' });
      assert.deepEqual([source.answer.id, source.answer.outcome], ['mine', 'pass']);
      const metrics = await (await fetch(`${listener!.origin}/metrics`)).text();
      assert.match(metrics, /^gauntlet_verdicts_total\{outcome="fail"\} 1$/m);
      assert.match(metrics, /^gauntlet_sandbox_faults_total\{path="\/judge"\} 0$/m);
    });

    it('refuses bad requests with one line that names the field', async () => {
      await start(sandbox, { seconds: 5 });
      const refused: [path: string, body: unknown, status: number, message: string][] = [
        ['/judge', '{', 400, 'the body is not JSON'],
        ['/judge', [], 400, 'code: is missing'],
        ['/judge', 'null', 400, 'the body is not a JSON object'],
        ['/judge', { ...ADD, tests: [[1, 2]] }, 400, 'tests.0.0: Invalid input: expected array, received number'],
        ['/judge', { ...ADD, tests: [RIGHT], mode: 'other' }, 400, 'mode: choose values, assert, pytest'],
        [
          '/judge',
          { ...ADD, tests: [RIGHT], limits: { wallSeconds: 6 } },
          400,
          'limits.wallSeconds: at most 5 here; start the server with a larger --timeout',
        ],
        [
          '/run_code',
          { code: '', language: 'python', run_timeout: 1, memory_limit_MB: 600 },
          400,
          'memory_limit_MB: at most 512 here; start the server with a larger --memory-mb',
        ],
        [
          '/run_code',
          { code: '', language: 'python', memory_limit_MB: 8 },
          400,
          'memory_limit_MB: Too small: expected number to be >=32',
        ],
        ['/run_code', { code: '', language: 'cpp' }, 400, 'language: only python runs here'],
        [
          '/run_code',
          { code: '', language: 'python', files: { '../x': '' } },
          400,
          'files.../x: must be a relative path without . and ..',
        ],
        ['/run_code', { code: '', language: 'python', run_timeout: 1 }, 501, '/run_code requires Docker'],
        ['/other', {}, 404, 'there is no POST /other'],
      ];
      for (const [path, body, status, message] of refused) {
        const got = await post(path, body);
        assert.deepEqual([got.status, got.answer], [status, { error: message }], JSON.stringify(body));
      }
      const large = await post('/judge', ' '.repeat((16 << 20) + 1));
      assert.deepEqual([large.status, large.answer], [413, { error: 'the body has more than 16777216 bytes' }]);
    });

    it('answers its client in Python: values, source, and all kinds of plain data', async function () {
      requirePython.call(this);
      await start(sandbox);
      const kinds = `[None, True, 1, 2**60, 0.5, float('inf'), 'ä', b'x', 1j, [1], (1, 2), {3}, {'a': (1,)}]`;
      const printed = await python(`
def outcome(result): return result['outcome']
print(outcome(judge.values('def same(x): return x', 'same', [([x], x) for x in ${kinds}], comparison='strict')))
print(outcome(judge.values('def add(a, b): return a - b', 'add', [((1, 2), 3)])))
print(outcome(judge.source('def add(a, b): return a + b', 'assert add(1, 2) == 3')))
try: judge.values('', '', [])
except ValueError as error: print(error)`);
      assert.deepEqual(printed.split('\n').slice(0, 3), ['pass', 'fail', 'pass']);
      assert.match(printed, /\n400: \{"error":"entry: /);
    });

    it('asks for the token at other addresses than loopback, and serves its client', async function () {
      requirePython.call(this);
      process.env.GAUNTLET_TOKEN = 'of a test';
      await start(sandbox, { host: '0.0.0.0' }).finally(() => delete process.env.GAUNTLET_TOKEN);
      assert.equal(token, 'of a test');
      assert.equal((await post('/judge', {})).status, 401);
      assert.equal((await fetch(`${listener!.origin}/client.py?token=of+a+test`)).status, 200);
      assert.equal(await python(`print(judge.values('def f(): return 1', 'f', [([], 1)])['outcome'])`), 'pass');
    });
  });

  it('has no verdict for a fault: 503 with Retry-After at /judge, 504 at /run_code, and a client that gives up', async function () {
    requirePython.call(this);
    await start(
      double(async () => {
        throw new GauntletError('SANDBOX_FAULT', 'no sandbox could be started');
      }),
    );
    const judged = await post('/judge', { ...ADD, tests: [RIGHT] });
    assert.equal(judged.status, 503);
    assert.equal(judged.headers.get('retry-after'), '2');
    assert.deepEqual(judged.answer, { error: 'no verdict, try again: no sandbox could be started' });
    assert.equal((await post('/run_code', { code: '', language: 'python' })).status, 504);
    assert.equal(
      await python(`
try: judge.values('def f(): return 1', 'f', [([], 1)])
except SandboxFault as fault: print(fault)`),
      '{"error":"no verdict, try again: no sandbox could be started"}',
    );
    const metrics = await (await fetch(`${listener!.origin}/metrics`)).text();
    assert.match(metrics, /^gauntlet_sandbox_faults_total\{path="\/run_code"\} 1$/m);
  });

  it('hides the message of a fault of its own, and says it in its output', async () => {
    await start(
      double(async () => {
        throw new TypeError('secret');
      }),
    );
    const { status, answer } = await post('/judge', { ...ADD, tests: [RIGHT] });
    assert.deepEqual([status, answer], [500, { error: 'the server failed; its output says why' }]);
    assert.deepEqual(logged, ['a request failed: secret']);
  });

  it('refuses more requests than its queue holds, and ends those whose client leaves or whose time is over', async () => {
    const signals: AbortSignal[] = [];
    const run = ((_jobs: unknown, { signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }) as unknown as Sandbox['run'];
    await start({ ...double(async () => assert.fail()), run }, { queue: 1, seconds: 20 });
    const leave = new AbortController();
    const sent = { method: 'POST', body: JSON.stringify({ ...ADD, tests: [RIGHT] }), signal: leave.signal };
    const first = fetch(`${listener!.origin}/judge`, sent).catch((error: Error) => error.name);
    while (signals.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const second = await post('/judge', { ...ADD, tests: [RIGHT] });
    assert.deepEqual([second.status, second.answer], [503, { error: 'too many requests wait: try again' }]);
    leave.abort();
    assert.equal(await first, 'AbortError');
    while (!signals[0]!.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
    await listener!.close();
    await start({ ...double(async () => assert.fail()), run }, { seconds: 0.5 });
    const waiting = post('/judge', { ...ADD, tests: [RIGHT], limits: { wallSeconds: 0.5 } });
    while (signals.length === 1) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal((await post('/judge', ' '.repeat(200))).status, 503, 'bodies have too many bytes together');
    assert.equal((await waiting).status, 504);
  });

  describe('with Docker', () => {
    let sandbox: Sandbox;
    before(async function () {
      await requireDocker(this);
      sandbox = await openSandbox('docker', { size: 1 });
    });
    after(() => sandbox?.close());

    /** @returns status of the answer, status of the script, exit status, standard output and the last line of standard error */
    async function run(code: string, fields: object = {}): Promise<unknown[]> {
      const { answer } = await post('/run_code', { code, language: 'python', run_timeout: 1, ...fields });
      const { status, return_code, stdout, stderr } = answer.run_result;
      return [answer.status, status, return_code, stdout, stderr.trim().split('\n').at(-1)];
    }

    it('runs scripts as SandboxFusion does', async () => {
      await start(sandbox);
      const failed = (code: number | null, out: string, last: string) => ['Failed', 'Finished', code, out, last];
      assert.deepEqual(await run('print(input()[::-1])', { stdin: 'abc' }), ['Success', 'Finished', 0, 'cba\n', '']);
      assert.deepEqual(await run('print(1); 1 / 0'), failed(1, '1\n', 'ZeroDivisionError: division by zero'));
      assert.deepEqual(await run('x = ('), failed(1, '', "SyntaxError: '(' was never closed"));
      assert.deepEqual(await run('import sys; sys.exit(3)'), failed(3, '', ''));
      assert.deepEqual(await run('import sys; sys.exit("why")'), failed(1, '', 'why'));
      assert.deepEqual(await run('import os; os._exit(4)'), failed(4, '', ''));
      assert.deepEqual(await run('import os; os.kill(os.getpid(), 11)'), failed(-11, '', ''));
      assert.deepEqual(await run('bytearray(10**9)'), failed(1, '', 'MemoryError'));
      const late = ['Failed', 'TimeLimitExceeded', null, '', ''];
      assert.deepEqual(await run('while True: pass'), late);
      assert.deepEqual(await run('import time; time.sleep(9)'), late);
      const threads = 'import threading; threading.Thread(target=lambda: print(7)).start()';
      assert.deepEqual(await run(threads), ['Success', 'Finished', 0, '7\n', '']);
      assert.deepEqual(await run("print('x' * 3_000_000)"), failed(1, '', 'Unsendable: the value is too large'));
      const ends = [
        "import atexit; atexit.register(print, 'bye')",
        "import io, sys; print('bye'); sys.stdout = io.StringIO(); print('lost')",
        "import sys; print('bye'); sys.stdout = None",
        "import sys; print('bye'); sys.stdout.close()",
      ];
      for (const code of ends) assert.deepEqual(await run(code), ['Success', 'Finished', 0, 'bye\n', ''], code);
      const main = 'import os, sys; print(__name__, os.path.basename(__file__), sys.argv, os.path.isfile(__file__))';
      assert.deepEqual((await run(main))[3], "__main__ main.py ['main.py'] True\n");
    });

    it('gives no more than its own limits to a request that names none', async () => {
      await start(sandbox, { memoryMb: 64, seconds: 5 });
      assert.equal((await run('bytearray(100 * 2**20)'))[4], 'MemoryError');
      const judged = await post('/judge', { ...ADD, code: 'def add(a, b): bytearray(100 * 2**20)', tests: [RIGHT] });
      assert.equal(judged.answer.outcome, 'memory');
    });

    it('gives scripts files, and returns those that they write', async () => {
      await start(sandbox);
      const { answer } = await post('/run_code', {
        code: "from util.help import text\nprint(text)\nfile = open('out.txt', 'w')\nfile.write('hi')",
        language: 'python',
        files: { 'util/help.py': Buffer.from("text = 'here'").toString('base64'), 'none.txt': null },
        fetch_files: ['out.txt', 'missing.txt'],
      });
      assert.deepEqual([answer.status, answer.run_result.stdout], ['Success', 'here\n']);
      assert.deepEqual(answer.files, { 'out.txt': Buffer.from('hi').toString('base64') });
      assert.deepEqual((await run("print(__import__('os').listdir('.'))"))[3], "['main.py']\n", 'nothing is left');
    });
  });
});
