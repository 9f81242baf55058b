// Tests a server on loopback that is killed, slow, busy or wrong. A wrong answer of it never becomes a sample.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerateRequest } from '../../../ml/engine/engine.js';
import { type RemoteBatch, RolloutServer, type RolloutServerOptions } from '../../../ml/remote/rolloutServer.js';
import { temporaryFolder } from '../../infra/support.js';
import { FakeEngine } from '../../support/doubles.js';
import { type Completion, type Fault, type RolloutDouble, startRolloutDouble } from '../../support/rolloutDouble.js';

const EOS = 0;

describe('RolloutServer', () => {
  const engine = new FakeEngine();
  const files = engine.exportAdapter(engine.initAdapter({ rank: 2, alpha: 2 }, 1));
  let folder: string;
  let double: RolloutDouble;

  beforeEach(async () => {
    folder = temporaryFolder();
    double = await startRolloutDouble(engine);
  });
  afterEach(async () => {
    await double.close();
  });

  const requests = (count: number): GenerateRequest[] =>
    Array.from({ length: count }, (_, i) => ({ prompt: engine.encode(`<gen>add ${i}<s1>`), key: [i, 7] }));
  const batch = (changes: Partial<RemoteBatch> = {}): RemoteBatch => ({
    model: engine.info,
    adapter: { name: 'gauntlet-a', files },
    maxNewTokens: 40,
    temperature: 0.8,
    stopTokens: [EOS],
    round: 0,
    ...changes,
  });
  const open = (changes: Partial<RolloutServerOptions> = {}): RolloutServer =>
    new RolloutServer({
      endpoint: `${double.url}/v1/`,
      adapters: folder,
      concurrency: 4,
      timeoutSeconds: 30,
      retryMs: 1,
      ...changes,
    });
  const choice = (answer: Completion) => answer.choices[0]!;

  it('returns the answers in order, with the token ids and log-probs of the server', async () => {
    let progress = 0;
    const answers = await open({ key: 'secret' }).generate(
      requests(9),
      batch({ onProgress: (tokens) => (progress += tokens) }),
    );
    const texts = answers.map(({ tokens }) => engine.decode(tokens));
    assert.deepEqual(
      texts,
      Array.from({ length: 9 }, (_, i) => `stage 1 of ${i}`),
    );
    assert.ok(answers.every(({ tokens, logprobs, finished }) => finished && logprobs.length === tokens.length));
    assert.equal(progress, answers.flatMap(({ tokens }) => tokens).length);
    assert.equal(double.authorization, 'Bearer secret');
  });

  it('sends at most `concurrency` requests at a time', async () => {
    double.fault = (answer, response) => {
      setTimeout(() => response.end(JSON.stringify(answer)), 5);
      return undefined;
    };
    await open({ concurrency: 3 }).generate(requests(12), batch());
    assert.ok(double.most <= 3 && double.completions === 12, `${double.most}`);
  });

  it('loads each adapter once, under its name, and unloads those of former steps', async () => {
    const server = open();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => `gauntlet-${letter}`))
      for (let i = 0; i < 2; i++) await server.generate(requests(2), batch({ adapter: { name, files } }));
    const loads = double.paths.filter((path) => path === '/v1/load_lora_adapter');
    assert.equal(loads.length, 6);
    const kept = ['c', 'd', 'e', 'f'].map((letter) => `gauntlet-${letter}`);
    for (let i = 0; i < 500 && (await readdir(folder)).length > 4; i++) await sleep(10);
    assert.deepEqual([...double.loaded.keys()], kept);
    assert.deepEqual((await readdir(folder)).sort(), kept);
  });

  it('loads an adapter again after the server lost it', async () => {
    const server = open();
    await server.generate(requests(2), batch());
    double.loaded.clear();
    assert.equal((await server.generate(requests(5), batch())).length, 5);
    assert.ok(existsSync(join(folder, 'gauntlet-a', 'adapter_model.safetensors')));
  });

  it('uses an adapter that the server has already loaded', async () => {
    await open().generate(requests(1), batch());
    assert.equal((await open().generate(requests(1), batch())).length, 1);
  });

  it('accepts an end token as the last allowed token, which old versions of vLLM report as a truncated answer', async () => {
    const [whole] = await open().generate(requests(1), batch());
    const fault = edited((one) => {
      one.finish_reason = 'length';
    });
    double.fault = fault;
    const options = batch({ maxNewTokens: whole!.tokens.length });
    assert.deepEqual(await open().generate(requests(1), options), [whole]);
  });

  it('cuts answers at the context length', async () => {
    const model = { ...engine.info, contextLength: requests(1)[0]!.prompt.length + 3 };
    const [answer] = await open().generate(requests(1), batch({ model }));
    assert.deepEqual([answer!.tokens.length, answer!.finished], [3, false]);
  });

  /** Every second answer is wrong in this way. */
  const half = (fault: Fault): Fault => {
    let count = 0;
    return (answer, response, body) => (count++ % 2 === 0 ? fault(answer, response, body) : answer);
  };
  const edited =
    (edit: (choice: Completion['choices'][number], answer: Completion) => void): Fault =>
    (answer) => {
      edit(choice(answer), answer);
      return answer;
    };
  const sent =
    (status: number, body: string, headers: Record<string, string> = {}): Fault =>
    (_answer, response) => {
      response.writeHead(status, headers).end(body);
      return undefined;
    };

  const WRONG: [what: string, fault: Fault, message: RegExp][] = [
    [
      'a former adapter',
      edited((_, answer) => {
        answer.model = 'gauntlet-former';
      }),
      /another model or adapter/,
    ],
    ['HTML', sent(200, '<html>\u001b[31mWelcome</html>'), /is not JSON/],
    ['another form', sent(200, '{"model": 3, "choices": []}'), /unexpected form: model/],
    ['two choices', edited((one, answer) => answer.choices.push(one)), /unexpected form: choices/],
    ['a huge body', sent(200, 'x'.repeat(1_000_000)), /more than \d+ bytes/],
    ['a redirect', sent(302, '', { location: 'http://127.0.0.1:9/' }), /redirect|fetch failed/],
    ['an error', sent(500, 'engine \u001b[31mdied'), /HTTP 500: engine \[31mdied/],
    ['another prompt', edited((one) => one.prompt_token_ids!.unshift(5)), /continues another prompt/],
    [
      'a token outside of the vocabulary',
      edited((one) => one.token_ids.splice(0, 1, 256)),
      /outside of the vocabulary of 256/,
    ],
    ['a negative token', edited((one) => one.token_ids.splice(0, 1, -1)), /outside of the vocabulary/],
    [
      'no token',
      edited((one) => {
        one.token_ids = [];
        one.logprobs.token_logprobs = [];
      }),
      /has no token/,
    ],
    ['too many tokens', edited((one) => one.token_ids.unshift(...new Array(40).fill(9))), /at most 40/],
    ['tokens after the end', edited((one) => one.token_ids.splice(2, 1, EOS)), /goes on after a stop token/],
    ['an answer without its end', edited((one) => one.token_ids.pop()), /finish_reason contradicts/],
    [
      'a short answer',
      edited((one) => {
        one.token_ids.pop();
        one.logprobs.token_logprobs.pop();
        one.finish_reason = 'length';
      }),
      /ends after \d+ of 40 tokens/,
    ],
    ['a missing log-prob', edited((one) => one.logprobs.token_logprobs.pop()), /one log-prob for each token/],
    [
      'a positive log-prob',
      edited((one) => one.logprobs.token_logprobs.splice(0, 1, 0.5)),
      /no sampled token can have/,
    ],
    ['an impossible log-prob', edited((one) => one.logprobs.token_logprobs.splice(0, 1, -9999)), /no sampled token/],
    [
      'a log-prob that is no number',
      edited((one) => one.logprobs.token_logprobs.splice(0, 1, Number.NaN)), // JSON has null for it
      /unexpected form: choices.0.logprobs/,
    ],
    [
      'a cut connection',
      (_answer, response) => {
        response.destroy();
        return undefined;
      },
      /fetch failed|terminated/,
    ],
    [
      'half an answer',
      (answer, response) => {
        const text = JSON.stringify(answer);
        response.writeHead(200, { 'content-length': text.length });
        response.write(text.slice(0, 20), () => response.destroy());
        return undefined;
      },
      /fetch failed|terminated/,
    ],
  ];

  for (const [what, fault, message] of WRONG) {
    it(`refuses ${what}: it asks again, and fails with one line if that does not help`, async () => {
      const expected = await open().generate(requests(3), batch());
      double.fault = half(fault);
      assert.deepEqual(await open({ concurrency: 1 }).generate(requests(3), batch()), expected);
      double.fault = fault;
      await assert.rejects(
        open().generate(requests(3), batch()),
        (error: Error & { code: string; retryable: boolean }) => {
          assert.deepEqual([error.code, error.retryable], ['ENDPOINT_FAULT', true]);
          assert.match(error.message, message);
          assert.ok(error.message.startsWith(`rollout server ${double.url}: `), error.message);
          assert.ok(!/[\p{C}]/u.test(error.message));
          return true;
        },
      );
    });
  }

  it('asks a busy server more often than a server that fails', async () => {
    let count = 0;
    double.fault = (answer, response) => {
      if (count++ >= 8) return answer;
      response.writeHead(count % 2 ? 429 : 503).end();
      return undefined;
    };
    assert.equal((await open({ concurrency: 1 }).generate(requests(2), batch())).length, 2);
  });

  for (const seconds of ['60', '9999999']) // the second is longer than a timer of Node.js can be
    it(`waits as long as a busy server asks it to: ${seconds} s`, async () => {
      double.fault = sent(429, '', { 'retry-after': seconds });
      const server = open({ concurrency: 1, timeoutSeconds: 1 });
      await assert.rejects(server.generate(requests(2), batch()), /0 of 2 answers/);
      assert.equal(double.completions, 1);
    });

  it('does not repeat a request that the server refuses', async () => {
    double.fault = sent(400, '{"message": "prompt too long"}');
    await assert.rejects(
      open({ concurrency: 1 }).generate(requests(3), batch()),
      /refused a prompt .HTTP 400: .*too long/,
    );
    assert.equal(double.completions, 1);
  });

  it('names a server that is not there', async () => {
    const server = open();
    await double.close();
    await assert.rejects(server.generate(requests(1), batch()), /rollout server http:.*ECONNREFUSED/);
  });

  it('gives up a batch at its deadline, and says how far it came', async () => {
    let count = 0;
    double.fault = (answer) => (count++ < 2 ? answer : undefined); // the server never answers a third request
    const server = open({ concurrency: 1, timeoutSeconds: 0.5 });
    await assert.rejects(server.generate(requests(4), batch()), /2 of 4 answers after rollouts.timeoutSeconds: 0.5/);
  });

  it('stops when it is cancelled', async () => {
    const cancel = new AbortController();
    double.fault = () => {
      cancel.abort();
      return undefined;
    };
    await assert.rejects(open().generate(requests(4), batch({ signal: cancel.signal })), { name: 'AbortError' });
  });

  it('fails with one line if it cannot write the folder of adapters', async () => {
    await writeFile(join(folder, 'file'), '');
    const server = open({ adapters: join(folder, 'file', 'adapters') });
    await assert.rejects(server.generate(requests(1), batch()), /rollouts.adapters: cannot write .*ENOTDIR/);
  });
});
