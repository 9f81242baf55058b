// `gauntlet serve`: an OpenAI-compatible server for a checkpoint or a base model, until Ctrl-C.
import { once } from 'node:events';
import type { Command } from 'commander';
import { inferenceServer } from '../../inference/server.js';
import { isLoopback, listen } from '../../infra/httpServer.js';
import { integer, port } from '../input/options.js';
import { type SolvingFlags, withPolicy, withSolver } from '../run/solving.js';
import { createOutput } from '../terminal/output.js';

const LONGEST_TIMER_S = 2_147_483; // Node has no longer timer

type Flags = SolvingFlags & { host: string; port: number; samples: number; queue: number; timeout: number };

export function addServe(program: Command): void {
  const command = program
    .command('serve')
    .description("answer problems over HTTP, with OpenAI's chat completions; Ctrl-C stops")
    .option('--host <address>', 'address to serve at; beyond 127.0.0.1, clients need the printed token', '127.0.0.1')
    .option('--port <n>', 'port; 0: any free one', port, 8000)
    .option('-n, --samples <n>', 'programs to choose from, unless a request says', integer(1), 1)
    .option('--queue <n>', 'requests that may wait; one is answered at a time', integer(), 16)
    .option('--timeout <seconds>', 'time of a request, its wait included', integer(1, LONGEST_TIMER_S), 300);
  withPolicy(command).action(async (named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    const { host, port, samples, queue, timeout } = flags;
    const log = (line: string): void => output.note(line);
    await withSolver(named, flags, output, async (solver, model, signal) => {
      const options = { solver, model, host, samples, queue, timeoutSeconds: timeout, log };
      const { server, token } = inferenceServer(options);
      const { origin, close } = await listen(server, host, port);
      try {
        if (!isLoopback(host)) output.note('the connection is not encrypted: the network can read token and programs');
        const value = { url: `${origin}/v1`, model, token };
        output.result(value, () => `${value.url}  model ${model}${token ? `  token ${token}` : ''}  (Ctrl-C stops)`);
        await once(signal, 'abort');
      } finally {
        await close();
      }
    });
  });
}
