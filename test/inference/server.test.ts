// The OpenAI-compatible server, with OpenAI's own client and with hostile clients.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { mock } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import OpenAI, { APIError } from 'openai';
import { GauntletError } from '../../core/base/errors.js';
import { parseRequest } from '../../inference/completions.js';
import { openSolver } from '../../inference/policies.js';
import { type InferenceOptions, inferenceServer } from '../../inference/server.js';
import { type Listener, listen } from '../../infra/httpServer.js';
import { holdConnections } from '../support/connections.js';
import { type Doubles, memoryDoubles } from '../support/doubles.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MODEL = 'run/best';
const PROBLEM = { role: 'user', content: 'add 3\ndef solve(x):' } as const;
const BODY = { model: MODEL, messages: [PROBLEM] };

interface Extended {
  gauntlet: { code: string; stages: { stage: number }[]; tests: { verdicts: string[] }[]; programs: object[] };
}

describe('the server for solve requests', () => {
  let world: Doubles;
  let listener: Listener;
  let token: string | undefined;
  let logged: string[];

  async function start(changes: Partial<InferenceOptions> = {}): Promise<void> {
    world = await memoryDoubles();
    logged = [];
    const solver = await openSolver(world.deps, {});
    const options = { solver, model: MODEL, host: '127.0.0.1', samples: 1, queue: 1, timeoutSeconds: 60, ...changes };
    const made = inferenceServer({ ...options, log: (line) => logged.push(line) });
    token = made.token;
    listener = await listen(made.server, '127.0.0.1', 0);
  }
  beforeEach(() => start());
  afterEach(() => listener.close());

  const client = (): OpenAI => new OpenAI({ baseURL: `${listener.origin}/v1`, apiKey: token ?? 'none', maxRetries: 0 });

  async function post(body: unknown, signal?: AbortSignal): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return fetch(`${listener.origin}/v1/chat/completions`, { method: 'POST', body: text, signal: signal ?? null });
  }

  /** Sends a request with any Host and Origin, which fetch cannot do. */
  const statusWith = (headers: Record<string, string>): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(`${listener.origin}/v1/models`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      sent.on('error', reject).end();
    });

  /** Holds every call of the model until `open` is called or its request is cancelled. */
  function gate(): { entered: Promise<AbortSignal>; open: () => void } {
    const generate = world.engine.generate.bind(world.engine);
    let enter: (signal: AbortSignal) => void;
    let open = (): void => undefined;
    const entered = new Promise<AbortSignal>((resolve) => {
      enter = resolve;
    });
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    world.engine.generate = async (rows, options) => {
      const signal = options.signal!;
      enter(signal);
      const cancelled = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      await Promise.race([opened, cancelled]);
      return generate(rows, options);
    };
    return { entered, open };
  }

  it('answers with the program, its reasoning and its tests', async () => {
    const { data } = await client().models.list();
    assert.deepEqual(
      data.map(({ id }) => id),
      [MODEL],
    );
    const answer = await client().chat.completions.create(BODY);
    const [{ message, finish_reason }] = answer.choices as [(typeof answer.choices)[0]];
    assert.match(message.content!, /^```python\ndef solve\(x\):\n {4}return x \+ 3.*\n```$/);
    assert.match((message as { reasoning_content?: string }).reasoning_content!, /## Pseudocode\n\nstage 3 of 3/);
    assert.equal(finish_reason, 'stop');
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage!;
    assert.ok(prompt_tokens > 0 && completion_tokens > 0 && total_tokens === prompt_tokens + completion_tokens);
    const { code, stages, tests, programs } = (answer as unknown as Extended).gauntlet;
    assert.ok(message.content!.includes(code));
    assert.deepEqual([stages.map(({ stage }) => stage), programs.length], [[1, 2, 3, 4, 5], 1]);
    assert.ok(tests.length > 0 && tests.every(({ verdicts }) => verdicts.length === 1));
  });

  it('streams the same answer stage by stage', async () => {
    const whole = await client().chat.completions.create(BODY);
    const stream = await client().chat.completions.create({
      ...BODY,
      stream: true,
      stream_options: { include_usage: true },
    });
    let [content, reasoning] = ['', ''];
    const events: string[] = [];
    let usage: object | null | undefined;
    let finish: string | null = null;
    for await (const chunk of stream) {
      const { event } = (chunk as { gauntlet?: { event: string } }).gauntlet ?? {};
      if (event) events.push(event);
      const [choice] = chunk.choices;
      content += choice?.delta.content ?? '';
      reasoning += (choice?.delta as { reasoning_content?: string } | undefined)?.reasoning_content ?? '';
      finish = choice?.finish_reason ?? finish;
      usage = chunk.usage ?? usage;
    }
    const { message } = whole.choices[0]!;
    assert.equal(content, message.content);
    assert.equal(reasoning, (message as { reasoning_content?: string }).reasoning_content);
    assert.deepEqual(events, [...Array<string>(5).fill('stage'), 'tests', 'program']);
    assert.deepEqual([usage, finish], [whole.usage, 'stop']);
  });

  it('chooses among samples by the tests of the request', async () => {
    const gauntlet = { samples: 8, function_signature: 'def solve(x):', baseline_tests: ['assert solve(9) == 12'] };
    const body = { ...BODY, messages: [{ role: 'user', content: 'add 3' }], gauntlet, seed: 1 };
    const { gauntlet: said } = (await (await post(body)).json()) as Extended;
    const programs = said.programs as { passed: number; selected: boolean; code: string }[];
    assert.equal(programs.length, 8);
    assert.deepEqual(new Set(programs.map(({ passed }) => passed)), new Set([0, 1])); // the draws contain both programs
    assert.deepEqual(
      programs.flatMap(({ selected, passed }) => (selected ? [passed] : [])),
      [1],
    );
    assert.equal(said.code, 'def solve(x):\n    return x + 3');
  });

  it('says that a limit of tokens cut the answer', async () => {
    const { choices } = await client().chat.completions.create({ ...BODY, max_tokens: 4 });
    assert.deepEqual([choices[0]!.finish_reason, choices[0]!.message.content], ['length', '']);
  });

  it('refuses hostile request bodies with one error that names the field', async () => {
    const user = (content: unknown) => ({ ...BODY, messages: [{ role: 'user', content }] });
    const cases: [body: unknown, status: number, message: RegExp, param: string | null][] = [
      ['x'.repeat(300_000), 413, /more than 262144 bytes/, null],
      ['{"model":', 400, /not JSON/, null],
      ['['.repeat(1000) + ']'.repeat(1000), 400, /nested too deep/, null],
      ['[]', 400, /the body: /, null],
      [{ ...BODY, messages: 'add 3' }, 400, /messages: /, 'messages'],
      [{ ...BODY, messages: [] }, 400, /messages: /, 'messages'],
      [{ ...BODY, messages: [{ role: 'system', content: 'x' }] }, 400, /must be a problem/, 'messages'],
      [user(' '), 400, /must be a problem/, 'messages'],
      [user('x'.repeat(20_001)), 400, /at most 20000 characters/, 'messages'],
      [{ ...user('x'.repeat(5_000)), stream: true }, 400, /the model reads fewer than 1000/, null],
      [user([{ type: 'image_url', image_url: { url: 'x' } }]), 400, /content: only text is/, 'messages.0.content'],
      [{ ...BODY, model: 'other' }, 404, /'run\/best' is served here/, 'model'],
      [{ ...BODY, n: 2 }, 400, /n: must be 1/, 'n'],
      [{ ...BODY, max_tokens: -1 }, 400, /max_tokens/, 'max_tokens'],
      [{ ...BODY, temperature: '1' }, 400, /temperature/, 'temperature'],
      [{ ...BODY, seed: 0.5 }, 400, /seed: must be an integer/, 'seed'],
      [{ ...BODY, gauntlet: { samples: 1e9 } }, 400, /gauntlet\.samples/, 'gauntlet.samples'],
      [{ ...BODY, gauntlet: { colour: 1 } }, 400, /colour/, 'gauntlet'],
      [{ ...BODY, gauntlet: { function_signature: 'solve' } }, 400, /function_signature/, 'gauntlet'],
      [{ ...BODY, gauntlet: { baseline_tests: [[1, 2, 3]] } }, 400, /baseline_tests\[0\]/, 'gauntlet'],
    ];
    for (const [body, status, message, param] of cases) {
      const answer = await post(body);
      const { error } = (await answer.json()) as { error: { message: string; type: string; param: string | null } };
      assert.equal(answer.status, status, error.message);
      assert.match(error.message, message);
      assert.deepEqual([error.type, error.param], ['invalid_request_error', param], error.message);
    }
    assert.equal((await fetch(`${listener.origin}/v1/other`)).status, 404);
    assert.equal((await post(BODY)).status, 200);
    assert.deepEqual([world.engine.calls.includes('generate'), logged], [true, []]);
  });

  it('answers other requests that clients of the API make', async () => {
    const picture = [{ type: 'image_url', image_url: { url: 'x' } }];
    const messages = [{ role: 'user', content: picture }, { role: 'assistant', content: null }, PROBLEM];
    for (const seed of ['-1', '9223372036854775807', '1.0', 'null'])
      assert.equal((await post(JSON.stringify({ ...BODY, messages, seed: 0 }).replace(/0}$/, `${seed}}`))).status, 200);
    assert.equal((await client().models.retrieve(MODEL)).id, MODEL);
    await assert.rejects(client().models.retrieve('other'), { status: 404, code: 'model_not_found' });
    for (const path of ['health', 'v1/models', `v1/models/${MODEL}`, 'v1/models/other', '%ff']) {
      const status = { 'v1/models/other': 404, '%ff': 400 }[path] ?? 200;
      for (const method of ['HEAD', 'GET'])
        assert.equal((await fetch(`${listener.origin}/${path}`, { method })).status, status, path);
    }
  });

  it('limits the number of waiting requests, and keeps a stream alive', async () => {
    const { entered, open } = gate();
    const first = post(BODY);
    await entered;
    mock.timers.enable({ apis: ['setInterval'] });
    const second = await post({ ...BODY, stream: true }); // the headers have arrived
    mock.timers.tick(5_000);
    mock.timers.reset();
    const { waiting } = (await (await fetch(`${listener.origin}/health`)).json()) as { waiting: number };
    assert.equal(waiting, 1);
    const third = await post({ ...BODY, stream: true });
    assert.deepEqual([third.status, third.headers.get('retry-after')], [503, '5']);
    assert.match(await third.text(), /"code":"queue_full"/);
    open();
    assert.equal((await first).status, 200);
    assert.match(await second.text(), /^(: waiting\n\n){2}data: [\s\S]*data: \[DONE\]\n\n$/);
  });

  it('cancels the request of a client that disconnects, whether it runs or waits', async () => {
    const { entered, open } = gate();
    const [leaving, waiter] = [new AbortController(), new AbortController()];
    const running = post(BODY, leaving.signal);
    const signal = await entered;
    const waiting = post(BODY, waiter.signal);
    waiter.abort();
    leaving.abort();
    await assert.rejects(running, { name: 'AbortError' });
    await assert.rejects(waiting, { name: 'AbortError' });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    open();
    assert.equal((await post(BODY)).status, 200);
    assert.deepEqual(logged, []);
  });

  it('ends a request that takes too long', async () => {
    await listener.close();
    await start({ timeoutSeconds: 1 });
    const { entered } = gate();
    const asked = post(BODY);
    await entered;
    collectGarbage(); // a timeout must not be garbage
    const answer = await asked;
    assert.equal(answer.status, 504);
    assert.match(await answer.text(), /"type":"server_error".*"code":"timeout"/);
  });

  it('reports a fault of the sandbox, even in the middle of a stream', async () => {
    world.sandbox.run = async () => {
      throw new GauntletError('SANDBOX_FAULT', 'the daemon is gone');
    };
    const answer = await post(BODY);
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5']);
    const stream = await client().chat.completions.create({ ...BODY, stream: true });
    const stages: number[] = [];
    await assert.rejects(
      async () => {
        for await (const chunk of stream)
          stages.push((chunk as unknown as { gauntlet: { stage: number } }).gauntlet.stage);
      },
      (error: APIError) => error instanceof APIError && error.code === 'SANDBOX_FAULT',
    );
    assert.deepEqual(stages, [1, 2, 3, 4, 5]);
    assert.equal(logged.length, 2);
  });

  it('answers no foreign page and no other host', async () => {
    assert.equal(await statusWith({ origin: 'https://evil.example' }), 403);
    assert.equal(await statusWith({ host: 'evil.example' }), 403);
    assert.equal(await statusWith({}), 200);
  });

  it('requires a token if it is reachable from outside', async () => {
    await listener.close();
    await start({ host: 'gpu.test' });
    const answer = await post(BODY);
    const { error } = (await answer.json()) as { error: { type: string } };
    assert.deepEqual([answer.status, error.type], [401, 'authentication_error']);
    assert.equal(await statusWith({ authorization: `Bearer ${'x'.repeat(token!.length)}` }), 401);
    assert.equal((await client().models.list()).data.length, 1);
    // by any name of the machine, also behind a proxy with TLS
    const authorization = `Bearer ${token}`;
    assert.equal(await statusWith({ host: 'box.test', origin: 'https://box.test', authorization }), 200);
    assert.equal(await statusWith({ authorization: `bearer  ${token}` }), 200); // schemes have no case (RFC 9110)
    assert.equal(await statusWith({ host: 'box.test', origin: 'https://evil.example', authorization }), 403);
  });

  it('answers while other clients hold connections without a request, and soon ends these connections', async () => {
    await listener.close();
    await start({ host: 'gpu.test' }); // a server that is reachable from outside, with a token
    const authorization = `Bearer ${token}`;
    const sockets = await holdConnections(listener.origin, 300);
    const ended = Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')));
    assert.equal(await statusWith({ authorization }), 200);
    const again = await holdConnections(listener.origin, 300); // ends the connection at once
    assert.equal(await statusWith({ authorization }), 200);
    for (const socket of again) socket.destroy();
    await ended; // ends it within 12 s, although no other client needs the connection
  }).timeout(30_000);

  it('reads the numbers in tests as a problem file does', () => {
    const gauntlet = { function_signature: 'def solve(x):', baseline_tests: ['A'] };
    const body = JSON.stringify({ ...BODY, gauntlet }).replace('"A"', '[1.0, 3]');
    assert.deepEqual(parseRequest(body, MODEL, 1).task.baselineTests, [{ args: [{ f: '1.0' }], expected: 3 }]);
  });
});
