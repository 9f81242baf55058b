// The `gauntlet` command: one file a subcommand; each adds itself to the program.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { packageRoot } from '../data/paths.js';
import { addCheckpoints } from './commands/checkpoints.js';
import { addControl } from './commands/control.js';
import { addDemo } from './commands/demo.js';
import { addDoctor } from './commands/doctor.js';
import { addFork } from './commands/fork.js';
import { addGc } from './commands/gc.js';
import { addModel } from './commands/model.js';
import { addProblems } from './commands/problems.js';
import { addReplay } from './commands/replay.js';
import { addReport } from './commands/report.js';
import { addResume } from './commands/resume.js';
import { addSandbox } from './commands/sandbox.js';
import { addSchedule } from './commands/schedule.js';
import { addShow } from './commands/show.js';
import { addSolve } from './commands/solve.js';
import { addStatus } from './commands/status.js';
import { addTemporal } from './commands/temporal.js';
import { addTrain } from './commands/train.js';
import { addUp } from './commands/up.js';
import { addWorker } from './commands/worker.js';
import { addMakeTiny } from './makeTiny.js';
import { printError } from './output.js';

const COMMANDS = [
  addDemo,
  addUp,
  addWorker,
  addTrain,
  addStatus,
  addResume,
  addControl,
  addFork,
  addSchedule,
  addReport,
  addReplay,
  addCheckpoints,
  addGc,
  addSolve,
  addShow,
  addModel,
  addProblems,
  addSandbox,
  addDoctor,
  addTemporal,
  addMakeTiny,
];

export function createProgram(): Command {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  const program = new Command('gauntlet')
    .description('Chained adversarial reasoning for code models, as durable workflows.')
    .version(version)
    .enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(oneLine(text)) })
    .exitOverride();
  for (const add of COMMANDS) add(program);
  return program;
}

/** Commander's own complaints, suggestions included, as the one line that every failure is. */
const oneLine = (text: string): string => `${text.trim().replace(/\s*\n\s*/g, ' ')} (--help lists the options)\n`;

/** Runs one command line; resolves to the exit code. */
export async function main(argv: string[]): Promise<number> {
  try {
    await createProgram().parseAsync(argv, { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode; // commander has printed its own line
    printError(error);
    return 1;
  }
}
