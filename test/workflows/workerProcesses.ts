// Worker processes over doubles (modelWorkerProcess.ts) for one test server. They share the folder of the server.
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestServer } from './server.js';

const PROCESS = fileURLToPath(new URL('./modelWorkerProcess.js', import.meta.url));

export class WorkerProcesses {
  private readonly children: ChildProcess[] = [];

  /** @param env added to the environment of each worker */
  constructor(
    private readonly host: TestServer,
    private readonly env: NodeJS.ProcessEnv = {},
  ) {}

  /** Resolves when the worker is ready. @param hangAt the generation from which on its model hangs */
  async start(roles: string, hangAt?: number): Promise<ChildProcess> {
    const { server, folder } = this.host;
    const args = [PROCESS, server.address, folder, roles, ...(hangAt === undefined ? [] : [String(hangAt)])];
    const env = { ...process.env, ...this.env };
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.children.push(child);
    await new Promise<void>((serves, ends) => {
      child.stdout!.once('data', () => serves());
      child.once('exit', (code) => ends(new Error(`the worker ended (${code})`)));
    });
    return child;
  }

  kill(): void {
    for (const child of this.children) child.kill('SIGKILL');
  }
}
