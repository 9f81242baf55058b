// Started as a process by providers.ts. Prints the result of the self-test as JSON in its last line.
import type { Provider } from '../device/providers.js';
import { reasonOf } from '../device/reason.js';
import { GraphSession, tensor, useProvider } from '../device/runtime.js';
import { Graph } from '../ir/graph.js';
import { selfTest } from './selfTest.js';

/** @throws if no session starts on the provider */
async function start(provider: Provider): Promise<void> {
  useProvider(provider);
  const g = new Graph();
  const x = g.input('x', 'float32', [2, 2]);
  g.output('y', g.matMul(x, x));
  const session = await GraphSession.open(g);
  await session.run({ x: tensor(new Float32Array(4), [2, 2]) });
  await session.close();
}

async function check(provider: Provider): Promise<string | undefined> {
  try {
    await start(provider);
  } catch (error) {
    const { cause, message } = error as Error;
    return `it does not start: ${reasonOf((cause as Error | undefined)?.message ?? message)}`;
  }
  return selfTest(provider);
}

const fault = await check(process.argv[2] as Provider);
process.stdout.write(`${JSON.stringify({ fault })}\n`);
