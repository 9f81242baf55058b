// The WebAssembly backend: CPython in WebAssembly, for machines without Docker. Best effort, not a security boundary.
import fs from 'node:fs';
import os from 'node:os';
import { GauntletError } from '../../core/base/errors.js';
import type { Limits } from '../../core/schema/execution.js';
import { GuestPool } from '../pool.js';
import type { Sandbox } from '../sandbox.js';
import { TestPool } from '../testSource/testPool.js';
import { WasmProcess } from './process.js';
import { ensureSnapshot, pyodideVersion } from './snapshot.js';

export interface WasmOptions {
  size?: number; // the number of processes; default: one per core
  log?: (line: string) => void;
  cache?: string; // folder of the interpreter's snapshot; default: the user's cache
}

const CPU_SECONDS = 120; // a job with a larger limit gets another process
const DEPTH = 4; // the jobs that a process has at a time, so that it never waits for a busy host

/** Opens the backend. Processes start with the first jobs. */
export async function openWasm({
  size = os.availableParallelism(),
  log = () => {},
  cache,
}: WasmOptions = {}): Promise<Sandbox> {
  let snapshot = await ensureSnapshot(log, cache);
  const open = async (job: { limits: Limits }) => {
    try {
      return await WasmProcess.start(snapshot, Math.max(CPU_SECONDS, job.limits.cpuSeconds));
    } catch (error) {
      fs.rmSync(snapshot, { force: true }); // the snapshot may be damaged: make it again
      snapshot = await ensureSnapshot(log, cache);
      throw error;
    }
  };
  const pool = new GuestPool({ size, depth: DEPTH, open });
  const guest = (limits: Limits) => open({ limits });
  const tests = new TestPool({ size, guests: { program: guest, tests: guest } });
  return {
    info: {
      kind: 'wasm',
      description: `wasm · CPython in WebAssembly · ${size} ${size === 1 ? 'process' : 'processes'} · best effort, not a security boundary`,
      boundary: false,
      facts: { pyodide: pyodideVersion() },
    },
    run: (jobs, options) => pool.run(jobs, options),
    runTests: async (jobs, options) => {
      if (jobs.some(({ style }) => style === 'pytest'))
        throw new GauntletError(
          'SANDBOX_UNAVAILABLE',
          'tests of style pytest need --sandbox docker: WebAssembly has no pytest',
        );
      return tests.run(jobs, options);
    },
    close: async () => {
      await Promise.all([pool.close(), tests.close()]);
    },
  };
}
