// This sandbox as a contender: executions in, verdicts judged here as everywhere, with as many in flight as is asked.
import { readdirSync, readFileSync } from 'node:fs';
import type { Verdict } from '../../../core/schema/execution.js';
import { judgePrograms, judgeSources } from '../../../sandbox/judgePrograms.js';
import type { Mode } from '../../../sandbox/programRows.js';
import type { Sandbox } from '../../../sandbox/sandbox.js';
import { type OpenSandboxOptions, openSandbox } from '../../../workers/openSandbox.js';
import { containerBytes } from '../sandbox/containerMemory.js';
import { type Execution, rowOf } from '../sandbox/executions.js';
import { serve } from './serve.js';

interface Request {
  id: number;
  op: string;
  inFlight: number;
  executions: Execution[];
}
export interface Ran {
  seconds: number;
  latencies: number[]; // seconds, one an execution
  good: boolean[]; // all of its tests passed
}

const [backend, mode, options] = process.argv.slice(2) as ['docker' | 'wasm', Mode, string];
let sandbox: Sandbox | undefined;

const handlers: Record<string, (request: Request) => unknown> = {
  hello: () => ({ node: process.versions.node }),
  async open() {
    sandbox ??= await openSandbox(backend, JSON.parse(options) as OpenSandboxOptions);
    return {};
  },
  run: async ({ executions, inFlight }): Promise<Ran> => {
    const ran: Ran = { seconds: 0, latencies: [], good: [] };
    let next = 0;
    const client = async (): Promise<void> => {
      while (next < executions.length) {
        const i = next++;
        const start = performance.now();
        const outcome = await execute(executions[i]!);
        ran.latencies[i] = (performance.now() - start) / 1000;
        ran.good[i] = outcome === 'pass';
      }
    };
    const start = performance.now();
    await Promise.all(Array.from({ length: inFlight }, client));
    return { ...ran, seconds: (performance.now() - start) / 1000 };
  },
  memory: async () => {
    const own = peakOf('self');
    return { bytes: own + (backend === 'docker' ? await containerBytes(process.pid) : childrenBytes()) };
  },
};

async function execute(execution: Execution): Promise<Verdict> {
  if (mode === 'values') return (await judgePrograms([rowOf(execution)], sandbox!))[0]!.outcome;
  const { id, code, asserts, pytest } = execution;
  const row = { id, code, test_source: mode === 'assert' ? asserts : pytest };
  return (await judgeSources([row], mode, sandbox!))[0]!.outcome;
}

const peakOf = (pid: string): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;

function childrenBytes(): number {
  const children = readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/status`, 'utf8').includes(`\nPPid:\t${process.pid}\n`);
    } catch {
      return false; // it has just ended
    }
  });
  return children.reduce((sum, pid) => sum + peakOf(pid), 0);
}

await serve<Request>(handlers);
await sandbox?.close();
