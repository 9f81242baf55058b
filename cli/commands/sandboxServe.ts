// `gauntlet sandbox serve`: judges programs over HTTP for other trainers, until Ctrl-C.
import { once } from 'node:events';
import { type Command, Option } from 'commander';
import type { SandboxKind } from '../../core/schema/config.js';
import { LEAST_MEMORY_MB, MOST, type Packages, packagesSchema } from '../../core/schema/execution.js';
import { judgeServer } from '../../inference/judgeServer.js';
import { isLoopback, listen } from '../../infra/httpServer.js';
import { memoryBudget } from '../../ml/engine/budget.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { integer, jsonOption, port, sandboxOption } from '../input/options.js';
import { interruptible } from '../terminal/interrupt.js';
import { createOutput } from '../terminal/output.js';

interface Flags {
  host: string;
  port: number;
  sandbox?: SandboxKind;
  packages?: Packages;
  image?: string;
  parallel?: number;
  queue: number;
  timeout: number;
  memoryMb: number;
  json?: boolean;
}

export function addSandboxServe(sandbox: Command): void {
  sandbox
    .command('serve')
    .description('judge programs over HTTP, for other trainers: POST /judge and /run_code; Ctrl-C stops')
    .option('--host <address>', 'address to serve at; beyond 127.0.0.1, clients need the token', '127.0.0.1')
    .option('--port <n>', 'port; 0: any free one', port, 8080)
    .addOption(sandboxOption('docker'))
    .addOption(
      new Option('--packages <set>', 'docker: packages that programs may import').choices(packagesSchema.options),
    )
    .option('--image <image>', 'docker: an image with Python 3.11 or later, in which programs run')
    .option('--parallel <n>', 'programs at a time (default: one per core)', integer(1))
    .option('--queue <n>', 'requests that may run or wait', integer(1), 1000)
    .option('--timeout <seconds>', 'time of a request, its wait included', integer(1, 86_400), 600)
    .option(
      '--memory-mb <n>',
      'the most memory that a request may ask for',
      integer(LEAST_MEMORY_MB, MOST.memoryMb),
      1024,
    )
    .addOption(jsonOption())
    .action((flags: Flags) => serve(flags));
}

async function serve({ sandbox: kind = 'auto', host, port, queue, timeout, memoryMb, ...flags }: Flags): Promise<void> {
  const { packages, image, parallel: size } = flags;
  const output = createOutput(flags.json);
  await interruptible(async ({ signal }) => {
    const sandbox = await openSandbox(kind, { log: output.note, size, packages, image, fallback: false });
    try {
      const limits = { queue, seconds: timeout, memoryMb, bodyBytes: memoryBudget().bytes / 16 };
      const { server, token } = judgeServer({ sandbox, host, ...limits, log: output.note });
      const { origin, close } = await listen(server, host, port);
      try {
        if (!isLoopback(host)) output.note('the connection is not encrypted: the network can read token and programs');
        output.result({ url: origin, token }, () => `${origin}${token ? `  token ${token}` : ''}  (Ctrl-C stops)`);
        await once(signal, 'abort');
      } finally {
        await close();
      }
    } finally {
      await sandbox.close();
    }
  });
}
