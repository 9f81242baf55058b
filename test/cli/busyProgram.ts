// A program whose thread is always inside a run of ONNX Runtime. It ignores the first Ctrl-C.
import { isMainThread } from 'node:worker_threads';
import { onInterrupt } from '../../cli/terminal/interrupt.js';
import { startThread } from '../../infra/scripts.js';
import { GraphSession, tensor } from '../../ml/device/runtime.js';
import { Graph } from '../../ml/ir/graph.js';

const SIZE = 700;

async function work(): Promise<never> {
  const g = new Graph();
  const x = g.input('x', 'float32', [SIZE, SIZE]);
  let y = x;
  for (let i = 0; i < 40; i++) y = g.matMul(y, x);
  g.output('y', y);
  const session = await GraphSession.open(g);
  for (let runs = 0; ; runs++) {
    if (runs === 1) process.stdout.write('running\n');
    await session.run({ x: tensor(new Float32Array(SIZE * SIZE), [SIZE, SIZE]) });
  }
}

if (isMainThread) {
  onInterrupt(() => undefined);
  startThread(new URL('./busyProgram.js', import.meta.url), undefined);
} else await work();
