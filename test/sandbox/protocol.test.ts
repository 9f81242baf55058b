import assert from 'node:assert/strict';
import type { CallResult } from '../../core/schema/execution.js';
import { GuestChannel, GuestLost, type ResolvedJob } from '../../sandbox/guest/channel.js';
import { encodeFrame, FrameReader, MAGIC, toCallResult } from '../../sandbox/guest/frames.js';
import { isPlainValue } from '../../sandbox/guest/values.js';

const greeting = () => Buffer.concat([Buffer.from(MAGIC, 'latin1'), encodeFrame({ ready: true })]);
const limits = { cpuSeconds: 1, caseCpuSeconds: 1, wallSeconds: 1, memoryMb: 256, outputBytes: 100 };
const job: ResolvedJob = { id: 'a', code: '', entry: 'f', inputs: [[1], [2]], limits };
const result = (id: number, calls: unknown[], more = {}) =>
  encodeFrame({ id, calls, ms: 1, cpu: 2, wall: false, retire: false, ...more });

function open(maxJobs = 100) {
  const written: Buffer[] = [];
  const state = { destroyed: 0 };
  const channel = new GuestChannel({ write: (data) => written.push(data), destroy: () => state.destroyed++ }, maxJobs);
  channel.feed(greeting());
  return { channel, written, state };
}
const lost = (running: boolean) => (error: unknown) => error instanceof GuestLost && error.running === running;

describe('the guest protocol', () => {
  it('reads frames from any chunks of the stream', () => {
    const messages = [{ a: 1 }, { b: 'ü'.repeat(1000) }, []];
    const bytes = Buffer.concat([Buffer.from(MAGIC), ...messages.map(encodeFrame)]);
    for (const size of [1, 3, 7, 1000, bytes.length]) {
      const reader = new FrameReader();
      const seen: unknown[] = [];
      for (let at = 0; at < bytes.length; at += size) seen.push(...reader.feed(bytes.subarray(at, at + size)));
      assert.deepEqual(seen, messages);
    }
  });

  it('refuses a wrong greeting, an oversized frame and invalid JSON', () => {
    assert.throws(() => [...new FrameReader().feed(Buffer.from('Welcome to Debian'))], /wrong greeting/);
    assert.throws(() => [...new FrameReader().feed(Buffer.from(`${MAGIC}\xff\xff\xff\xff`, 'latin1'))], /too large/);
    assert.throws(() => [...new FrameReader().feed(Buffer.from(`${MAGIC}\0\0\0\x02{]`, 'latin1'))], SyntaxError);
  });

  it('accepts only values that the codec allows within its limits', () => {
    const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth));
    for (const good of [
      null,
      1,
      'x',
      [[]],
      { t: [1] },
      { f: '1e-07' },
      { f: '-inf' },
      { i: '-0xff' },
      { d: [[1, 2]] },
      nested(60),
    ])
      assert.ok(isPlainValue(good), JSON.stringify(good));
    const bad = [
      undefined,
      1.5,
      2 ** 60,
      {},
      { t: 1 },
      { f: '' },
      { f: '0x10' },
      { f: 1 },
      { i: '12' },
      { i: 5 },
      { d: [[1]] },
      { d: [[1, 2, 3]] },
      { b: 'é' },
      { c: ['1'] },
      { z: 1 },
      { t: [], s: [] },
      JSON.parse('{"__proto__": []}'),
      nested(100),
      Array(500_000).fill(0),
    ];
    for (const one of bad) assert.ok(!isPlainValue(one), JSON.stringify(one)?.slice(0, 50));
  });

  it('reads an answer of a known shape or an error', () => {
    const read = (text: string, kind: 'answer' | 'load' = 'answer'): CallResult => toCallResult([kind, text]);
    assert.deepEqual(read('{"v":{"t":[1]}}'), { kind: 'value', value: { t: [1] } });
    assert.deepEqual(read('{"e":"ValueError: x"}'), { kind: 'error', message: 'ValueError: x' });
    assert.deepEqual(read('{"m":"MemoryError"}'), { kind: 'memory', message: 'MemoryError' });
    for (const text of [
      'true',
      'null',
      '[]',
      '{}',
      '{"v":1.5}',
      '{"v":1,"pass":true}',
      '{"k":"ok","v":3}',
      'x',
      '{"e":1}',
    ])
      assert.equal(read(text).kind, 'error', text);
    assert.equal(read('{"v":1}', 'load').kind, 'error');
    assert.deepEqual(toCallResult(['timeout', 'late']), { kind: 'timeout', message: 'late' });
    assert.ok(JSON.stringify(read(`{"e":"${'x'.repeat(10_000)}"}`)).length < 1000);
    assert.ok(JSON.stringify(toCallResult(['error', 'x'.repeat(10_000)])).length < 1000);
    assert.match((read(`{"v":"${'x'.repeat(2 << 20)}"}`) as { message: string }).message, /too large/);
  });

  it('joins streamed calls and the calls of the result in order', async () => {
    const { channel, written } = open();
    const run = channel.run(job);
    assert.equal(JSON.parse(written[0]!.subarray(4).toString()).memory, 256 * 2 ** 20);
    channel.feed(encodeFrame({ id: 1, call: ['answer', '{"v":1}'] }));
    channel.feed(result(1, [['answer', '{"v":2}']]));
    assert.deepEqual(await run, {
      calls: [
        { kind: 'value', value: 1 },
        { kind: 'value', value: 2 },
      ],
      ms: 1,
      wallHit: false,
    });
    assert.equal(channel.cpuAtHead, 2);
  });

  it('reduces each answer as soon as it is read', async () => {
    const { channel } = open();
    const seen: unknown[] = [];
    const run = channel.run({ ...job, reduce: (answer, call) => seen.push([answer, call]) });
    channel.feed(encodeFrame({ id: 1, call: ['answer', '{"v":[7]}'] }));
    assert.deepEqual(seen, [[[7], 0]]);
    channel.feed(result(1, [['answer', '{"v":8}']]));
    assert.deepEqual(seen.at(-1), [8, 1]);
    assert.deepEqual(
      (await run).calls,
      [1, 2].map((value) => ({ kind: 'value', value })),
    );
  });

  it('refuses a frame that a job with values does not need', async () => {
    const { channel } = open();
    const run = channel.run(job);
    channel.feed(Buffer.from([0, 80, 0, 0])); // 5 MiB
    await assert.rejects(run, /too large/);
  });

  it('reads raw calls', async () => {
    const { channel } = open();
    const run = channel.run(job);
    const raw = (kind: string, id: number, text: string) => {
      const body = Buffer.concat([Buffer.from(kind), Buffer.from([0, 0, 0, id]), Buffer.from(text)]);
      return Buffer.concat([Buffer.from([0, 0, 0, body.length]), body]);
    };
    channel.feed(raw('A', 1, '{"v":"ü"}'));
    channel.feed(raw('X', 1, '{"e":"E"}'));
    channel.feed(result(1, []));
    assert.deepEqual((await run).calls, [
      { kind: 'value', value: 'ü' },
      { kind: 'error', message: 'E' },
    ]);
    const other = open();
    const forged = other.channel.run(job);
    other.channel.feed(raw('A', 2, '{"v":1}'));
    await assert.rejects(forged, lost(true));
  });

  it('abandons a guest that could not be cleaned, and does not blame its waiting job', async () => {
    const { channel, state } = open();
    const [first, second] = [channel.run({ ...job, inputs: [[1]] }), channel.run(job)];
    channel.feed(result(1, [['answer', '{"v":1}']]));
    channel.feed(encodeFrame({ retire: true }));
    assert.deepEqual((await first).calls, [{ kind: 'value', value: 1 }]);
    await assert.rejects(second, lost(false));
    assert.ok(!channel.usable && state.destroyed > 0);
  });

  const answers = [
    ['answer', '1'],
    ['answer', '2'],
  ];
  for (const [name, bytes] of Object.entries({
    'another id': result(9, answers),
    'too few calls': result(1, answers.slice(1)),
    'an unknown field': result(1, answers, { verdict: 'pass' }),
    'an unknown kind of call': result(1, [answers[0], ['pass', '']]),
    'no frame': Buffer.from('\xff\xff\xff\xff', 'latin1'),
  }))
    it(`ends a guest that sends ${name} after a result, and may blame only the running job`, async () => {
      const { channel, state } = open();
      const runs = [channel.run(job), channel.run(job)];
      channel.feed(bytes);
      await assert.rejects(runs[0]!, lost(true));
      await assert.rejects(runs[1]!, lost(false));
      assert.ok(!channel.usable && state.destroyed > 0);
      await assert.rejects(channel.run(job), lost(false));
    });

  it('keeps the answers of an expired job and ends its guest', async () => {
    const { channel } = open();
    const runs = [channel.run(job), channel.run(job)];
    channel.feed(encodeFrame({ id: 1, call: ['answer', '{"v":1}'] }));
    channel.expire('too late', true);
    const { calls, wallHit } = await runs[0]!;
    assert.deepEqual(calls, [
      { kind: 'value', value: 1 },
      { kind: 'timeout', message: 'too late' },
    ]);
    assert.ok(wallHit);
    await assert.rejects(runs[1]!, lost(false));
  });

  it("stops using a guest after a number of jobs, or at the guest's request", async () => {
    const first = open(1);
    const run = first.channel.run(job);
    first.channel.feed(result(1, answers));
    await run;
    assert.ok(!first.channel.usable);
    const second = open();
    const other = second.channel.run(job);
    second.channel.feed(result(1, answers, { retire: true }));
    await other;
    assert.ok(!second.channel.usable);
  });

  it('refuses a job that is too large for the guest, and continues', async () => {
    const { channel, written } = open();
    await assert.rejects(channel.run({ ...job, inputs: [['x'.repeat(64 << 20)]] }), {
      code: 'BAD_INPUT',
      message: 'a program and its inputs have 65 MiB, the sandbox takes at most 64 MiB',
    });
    assert.equal(written.length, 0);
    const next = channel.run(job);
    channel.feed(result(2, answers));
    assert.equal((await next).calls.length, 2);
  });

  it('reports why a guest ended before it was ready', async () => {
    const channel = new GuestChannel({ write: () => {}, destroy: () => {} }, 1);
    channel.end('no such image');
    await assert.rejects(channel.ready, /no such image/);
  });
});
