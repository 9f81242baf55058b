// Measures the CPU seconds of the units of the measurement: calls of a program, and inputs drawn by each control.
import { spawnSync } from 'node:child_process';
import { RandomStream } from '../../core/base/random.js';
import type { ExecutionJob } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { LabError } from '../flags.js';
import { CONTROLS } from './controls.js';
import { FROZEN } from './frozen.js';
import type { FrozenProblem } from './programs.js';

/** The CPU seconds of one call of one program. */
export interface CallPrices {
  sandbox: number; // measured in a batch of 100, including a share of the start of the program
  inProcess: number; // measured in one running Python
}

const BATCH = 100;
const PROGRAMS = 24;

export async function callPrices(): Promise<CallPrices> {
  const jobs = FROZEN.keyhole('validation')
    .slice(0, PROGRAMS)
    .map((problem) => ({ code: problem.reference.code, inputs: drawn(problem) }));
  return { sandbox: await sandboxPrice(jobs), inProcess: pythonPrice(jobs) };
}

interface Job {
  code: string;
  inputs: Value[][];
}

const drawn = (problem: FrozenProblem): Value[][] => {
  const random = new RandomStream('catches', 'prices', problem.id);
  return Array.from({ length: BATCH }, () => problem.uniform(random));
};

/** The CPU seconds of this process, including its threads. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Uses the WebAssembly sandbox, which runs in threads of this process, so that other processes do not affect its CPU time. */
async function sandboxPrice(jobs: readonly Job[]): Promise<number> {
  const sandbox = await openSandbox('wasm', { size: 1 });
  const run = (): Promise<unknown> =>
    sandbox.run(jobs.map(({ code, inputs }, i): ExecutionJob => ({ id: `${i}`, code, entry: 'solve', inputs })));
  try {
    await run(); // lets just-in-time compilers work first
    const before = cpuSeconds();
    await run();
    return (cpuSeconds() - before) / jobs.length / BATCH;
  } finally {
    await sandbox.close();
  }
}

const TIMER = `
import json, sys, time
jobs = [(scope["solve"], job["inputs"]) for job in json.load(sys.stdin) for scope in [{}] if exec(job["code"], scope) is None]
def run():
    for solve, inputs in jobs:
        for args in inputs:
            solve(*args)
run()
start = time.process_time()
for _ in range(20):
    run()
print((time.process_time() - start) / 20 / sum(len(inputs) for _, inputs in jobs))
`;

function pythonPrice(jobs: readonly Job[]): number {
  const { stdout, status } = spawnSync('python3', ['-I', '-c', TIMER], {
    input: JSON.stringify(jobs),
    encoding: 'utf8',
  });
  if (status !== 0) throw new LabError('python3 is needed to measure the price of a call: install it', 2);
  return Number(stdout);
}

const DRAWN = 400;
const PROBLEMS = 30;

/** The CPU seconds of one input of a control, including the work of guided controls on conditions. */
export function drawPrice(name: string): number {
  const control = CONTROLS.find((one) => one.name === name)!;
  const problems = FROZEN.keyhole('validation').slice(0, PROBLEMS);
  const draw = (): number => {
    let count = 0;
    for (const problem of problems) {
      const random = new RandomStream('catches', 'draw', name, problem.id);
      let own = 0;
      for (const _ of control.write(problem, problem.wrong[0]!, random)) if (++own === DRAWN) break;
      count += own;
    }
    return count;
  };
  draw(); // lets the just-in-time compiler work first
  const before = cpuSeconds();
  const count = draw();
  return (cpuSeconds() - before) / count;
}
