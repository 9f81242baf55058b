// The C API of ONNX Runtime computes what onnxruntime-node computes, and gives back what it takes, also if a thread ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { startThread } from '../../../infra/scripts.js';
import { DeviceSession, DeviceTensor } from '../../../ml/device/deviceSession.js';
import { exclusively } from '../../../ml/device/exclusive.js';
import { runtimeFault } from '../../../ml/device/faults.js';
import { loadKoffi } from '../../../ml/device/ortApi.js';
import { countOwned, releaseOwnedBy } from '../../../ml/device/owned.js';
import { CPU } from '../../../ml/device/runtime.js';
import { Graph } from '../../../ml/ir/graph.js';
import { encodeModel } from '../../../ml/onnx/encode.js';
import { selfTestCases } from '../../../ml/selfTest/cases.js';
import { temporaryFolder } from '../../infra/support.js';

/** y = x + x. */
function doubling(): Uint8Array {
  const g = new Graph();
  const x = g.input('x', 'float32', [4, 2]);
  g.output('y', g.add(x, x));
  return encodeModel(g);
}
const open = (): DeviceSession => DeviceSession.open(doubling(), { memory: 'cpu' });

describe('sessions of the C API', () => {
  it('compute the same bits as onnxruntime-node in every program of the self-test', async () => {
    const folder = temporaryFolder();
    for (const { name, run } of selfTestCases(folder)) {
      const expected = await run(CPU);
      const actual = await run({ ...CPU, memory: 'cpu' });
      assert.deepEqual(actual, expected, name);
      assert.equal(countOwned(), 0, name);
    }
  });

  it('update a tensor, or some of its rows, in place if it is input and output', () => {
    const session = open();
    const numbers = Float32Array.from({ length: 12 }, (_, i) => i);
    const whole = DeviceTensor.of('float32', numbers, [6, 2]);
    const part = whole.rows(1, 4);
    const binding = session.bind({ x: part }, { y: part });
    binding.run();
    binding.run();
    assert.deepEqual([...whole.read()], [0, 1, 8, 12, 16, 20, 24, 28, 32, 36, 10, 11]);
    part.write(new Float32Array(8));
    assert.deepEqual([...whole.read()], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 10, 11]);
    binding.dispose();
    part.dispose();
    whole.dispose();
    session.close();
    session.close(); // a second release does nothing
    assert.equal(countOwned(), 0);
  });

  it('refuse what they cannot run with an error that says why', () => {
    const refusal = { code: 'ENGINE_FAULT', message: /does not load/ };
    assert.throws(() => DeviceSession.open(new Uint8Array([1, 2, 3]), { memory: 'cpu' }), refusal);
    const session = open();
    const x = DeviceTensor.empty('cpu', 'float32', [4, 2]);
    const small = DeviceTensor.empty('cpu', 'float32', [1, 2]);
    assert.throws(() => session.bind({ z: x }, {}), { code: 'ENGINE_FAULT', message: /z/ });
    const binding = session.bind({ x: small }, { y: x });
    assert.throws(() => binding.run(), { code: 'ENGINE_FAULT', message: /the model graph failed: .*dim/s });
    assert.throws(() => x.write(new Float32Array(3)), /8 elements of float32 are needed, got 3/);
    assert.throws(() => x.rows(3, 2), RangeError);
    binding.dispose();
    for (const each of [x, small]) each.dispose();
    session.close();
    assert.equal(countOwned(), 0);
  });

  it('say what an error of CUDA means', () => {
    const cases = readFileSync(join(ROOT, 'test/ml/device/faults.json'), 'utf8');
    for (const [said, code, message] of JSON.parse(cases) as string[][]) {
      const fault = runtimeFault(said!);
      assert.deepEqual([fault.code, fault.message.slice(0, message!.length)], [code, message]);
    }
  });

  it('name the way out if koffi is not installed', () => {
    const notInstalled = (): never => {
      throw new Error("Cannot find module 'koffi'");
    };
    const message = 'device cuda needs the package koffi: run gauntlet setup cuda, or use cpu';
    assert.throws(() => loadKoffi(notInstalled), { code: 'DEVICE_UNAVAILABLE', message });
  });

  it('free their memory when they close, and when their thread ends while it calls CUDA', async () => {
    const openAndClose = (): void => {
      const session = open();
      const [x, y] = [0, 1].map(() => DeviceTensor.empty('cpu', 'float32', [4, 2])) as [DeviceTensor, DeviceTensor];
      const binding = session.bind({ x }, { y });
      binding.run();
      binding.dispose();
      for (const each of [x, y]) each.dispose();
      session.close();
    };
    const ended = async (heldMs = 0): Promise<void> => {
      const thread = startThread(new URL('./sessionThread.js', import.meta.url), undefined);
      const { threadId } = thread;
      exclusively(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, heldMs));
      assert.equal(countOwned(), 0, 'it waits for its turn');
      assert.deepEqual(await once(thread, 'exit'), [3]);
      assert.ok(countOwned() > 0);
      releaseOwnedBy(threadId);
      assert.equal(countOwned(), 0);
    };
    for (let i = 0; i < 20; i++) openAndClose();
    for (let i = 0; i < 3; i++) await ended(500 * i);
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 200; i++) openAndClose();
    for (let i = 0; i < 6; i++) await ended();
    const grown = process.memoryUsage.rss() - before;
    assert.ok(grown < 220e6, `${grown} bytes more`); // these threads owned 384 MB
  });
});
