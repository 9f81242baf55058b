// Started as a process by providers.ts. Exits with 0 if a session on the named provider starts and computes correctly, else
// prints the reason in one line.
import { fileURLToPath } from 'node:url';
import { Graph } from '../ir/graph.js';
import { encodeModel } from '../onnx/encode.js';
import type { Provider } from './providers.js';
import { GraphSession, tensor, useProvider } from './runtime.js';

/** The reason in a message of the runtime, without source files, conditions and line breaks. */
export function reasonOf(message: string): string {
  const text = message.replace(/\s+/g, ' ').trim();
  return text.replace(/^.*?(?: was false\. | : FAIL : )/, '');
}

async function start(provider: Provider): Promise<void> {
  useProvider(provider);
  const g = new Graph();
  const x = g.input('x', 'float32', [2, 2]);
  g.output('y', g.matMul(x, x));
  const session = await GraphSession.open(encodeModel(g));
  const { y } = await session.run({ x: tensor(new Float32Array([1, 2, 3, 4]), [2, 2]) });
  await session.close();
  if ((y!.data as Float32Array).join() !== '7,10,15,22') throw new Error('its result is wrong');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  start(process.argv[2] as Provider).catch((error: Error) => {
    process.stdout.write(`${reasonOf((error.cause as Error | undefined)?.message ?? error.message)}\n`);
    process.exitCode = 1;
  });
}
