// The `gauntlet` command: one file a subcommand; each adds itself to the program.
import { Command, CommanderError } from 'commander';
import { addCheckpoints } from './commands/checkpoints.js';
import { addDemo } from './commands/demo.js';
import { addDoctor } from './commands/doctor.js';
import { addReport } from './commands/report.js';
import { addResume } from './commands/resume.js';
import { addSandbox } from './commands/sandbox.js';
import { addShow } from './commands/show.js';
import { addSolve } from './commands/solve.js';
import { addStatus } from './commands/status.js';
import { addTemporal } from './commands/temporal.js';
import { addTrain } from './commands/train.js';
import { addUp } from './commands/up.js';
import { addWorker } from './commands/worker.js';
import { printError } from './output.js';

export function createProgram(): Command {
  const program = new Command('gauntlet')
    .description('Chained adversarial reasoning for code models, as durable workflows.')
    .version('0.1.0')
    .showHelpAfterError('(add --help for the options)')
    .enablePositionalOptions()
    .exitOverride();
  for (const add of [
    addUp,
    addWorker,
    addTrain,
    addDemo,
    addStatus,
    addResume,
    addSolve,
    addShow,
    addCheckpoints,
    addReport,
    addSandbox,
    addDoctor,
    addTemporal,
  ]) {
    add(program);
  }
  return program;
}

/** Runs one command line; resolves to the exit code. */
export async function main(argv: string[]): Promise<number> {
  const program = createProgram();
  for (const command of [program, ...descendants(program)]) command.exitOverride();
  try {
    await program.parseAsync(argv, { from: 'user' });
    return typeof process.exitCode === 'number' ? process.exitCode : 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode; // commander has printed its own line
    printError(error);
    return 1;
  }
}

function descendants(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendants(child)]);
}
