// Measures the CPU seconds of the units of the measurement: calls of a program, searches, and inputs drawn by each control.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { RandomStream } from '../../core/base/random.js';
import type { ExecutionJob } from '../../core/schema/execution.js';
import type { Value } from '../../core/schema/value.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { LabError } from '../flags.js';
import { CONTROLS, mutations } from './controls.js';
import { FROZEN } from './frozen.js';
import type { FrozenProblem } from './programs.js';

/** The CPU seconds of one call of one program. */
export interface CallPrices {
  sandbox: number; // measured in batches of 100, including a share of the start of the program
  inProcess: number; // measured in one running Python
}

const BATCH = 100;
const PROGRAMS = 24;
const TICKS = 100; // per second, in /proc

const examples = (): FrozenProblem[] => FROZEN.keyhole('validation').slice(0, PROGRAMS);

export const callPrices = async (): Promise<CallPrices> => ({
  sandbox: await sandboxPrice(calls()),
  inProcess: pythonPrice(calls()),
});

const calls = (): ExecutionJob[] =>
  examples().map((problem, i) => ({
    ...{ id: `${i}`, code: problem.reference.code, entry: 'solve' },
    inputs: drawn(problem),
  }));

/** How many calls in one Python cost as much, because machines differ. */
export const callsCosting = (seconds: number): number => seconds / pythonPrice(calls());

/** The price of a search, in such calls. */
export const searchPrice = (searchOf: (problem: FrozenProblem) => ExecutionJob): number =>
  callsCosting(pythonPrice(examples().map(searchOf)));

const drawn = ({ id, known }: FrozenProblem): Value[][] => {
  const inputs = mutations(known, new RandomStream('catches', 'prices', id))[Symbol.iterator]();
  return Array.from({ length: BATCH }, () => inputs.next().value!);
};

const inputsOf = (jobs: ExecutionJob[]): number => jobs.reduce((sum, { inputs }) => sum + inputs.length, 0);

/** The CPU seconds of this process, including its threads. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** The CPU seconds of the child processes that have ended. */
function childSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[13]) + Number(fields[14])) / TICKS;
}

/** Uses the WebAssembly sandbox, whose programs run in child processes, so that other processes do not affect their CPU time. */
async function sandboxPrice(jobs: ExecutionJob[]): Promise<number> {
  const cost = async (rounds: number): Promise<number> => {
    const before = childSeconds();
    const sandbox = await openSandbox('wasm', { size: 1 });
    for (let i = 0; i < rounds; i++) await sandbox.run(jobs);
    await sandbox.close();
    return childSeconds() - before;
  };
  const [one, two] = [await cost(1), await cost(2)]; // both open a sandbox
  return (two - one) / inputsOf(jobs);
}

const TIMER = `
import json, sys, time
jobs = [(scope[job["entry"]], job["inputs"]) for job in json.load(sys.stdin) for scope in [{}] if exec(job["code"], scope) is None]
def run():
    for function, inputs in jobs:
        for args in inputs:
            function(*args)
run()
start, rounds = time.process_time(), 0
while time.process_time() < start + 1:
    run()
    rounds += 1
print((time.process_time() - start) / rounds / sum(len(inputs) for _, inputs in jobs))
`;

function pythonPrice(jobs: ExecutionJob[]): number {
  const { stdout, status } = spawnSync('python3', ['-I', '-c', TIMER], {
    input: JSON.stringify(jobs),
    encoding: 'utf8',
  });
  if (status !== 0) throw new LabError('python3 is needed to measure the price of a call: install it', 2);
  return Number(stdout);
}

const DRAWN = 400;
const PROBLEMS = 30;

/** The CPU seconds of one input of a control. */
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
