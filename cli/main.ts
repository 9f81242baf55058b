// The `gauntlet` command. Each file in commands/ adds one subcommand to the program.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { GauntletError } from '../core/base/errors.js';
import { exceptThisMachine } from '../infra/proxy.js';
import { ROOT } from '../infra/root.mjs';
import { closeTracing, openTracing } from '../workers/telemetry.js';
import { addAttack } from './commands/attack.js';
import { addCheckpoints } from './commands/checkpoints.js';
import { addCompare } from './commands/compare.js';
import { addConfig } from './commands/config.js';
import { addControl } from './commands/control.js';
import { addDashboard } from './commands/dashboard.js';
import { addDemo } from './commands/demo.js';
import { addDoctor } from './commands/doctor.js';
import { addEvaluate } from './commands/evaluate.js';
import { addExport } from './commands/export.js';
import { addFork } from './commands/fork.js';
import { addHarden } from './commands/harden.js';
import { addModel } from './commands/model.js';
import { addProblems } from './commands/problems.js';
import { addReplay } from './commands/replay.js';
import { addReport } from './commands/report.js';
import { addResume } from './commands/resume.js';
import { addSandbox } from './commands/sandbox.js';
import { addSchedule } from './commands/schedule.js';
import { addServe } from './commands/serve.js';
import { addSetup } from './commands/setup.js';
import { addShow } from './commands/show.js';
import { addSolve } from './commands/solve.js';
import { addStatus } from './commands/status.js';
import { addStore } from './commands/store.js';
import { addTemporal } from './commands/temporal.js';
import { addTrain } from './commands/train.js';
import { addUp } from './commands/up.js';
import { addWorker } from './commands/worker.js';
import { addExamples } from './help.js';
import { useStore } from './terminal/commandLine.js';
import { EXIT } from './terminal/exitCodes.js';
import { printError } from './terminal/output.js';

/** The groups of commands, in the order of --help. */
const GROUPS: [heading: string, commands: ((program: Command) => void)[]][] = [
  ['Train:', [addDemo, addTrain, addStatus, addResume, addControl, addFork, addSchedule, addCompare]],
  [
    'Use the results:',
    [addDashboard, addReport, addExport, addReplay, addCheckpoints, addEvaluate, addShow, addSolve, addServe],
  ],
  ['Server and store:', [addUp, addWorker, addTemporal, addStore, addDoctor, addSetup]],
  ['Tools:', [addAttack, addHarden, addModel, addProblems, addSandbox, addConfig]],
];

const STUCK_MS = 2_000; // bin/gauntlet.mjs waits longer for open handles

/** Commands that serve until Ctrl-C have no span of their own. */
const SERVERS = ['up', 'worker', 'dashboard', 'serve'];

export function createProgram(): Command {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const program = new Command('gauntlet')
    .description('Chained adversarial reasoning for code models, as durable workflows.')
    .version(version)
    .enablePositionalOptions()
    .configureOutput({ outputError: () => undefined }) // `main` prints errors
    .exitOverride();
  for (const [heading, commands] of GROUPS) {
    program.commandsGroup(heading);
    for (const add of commands) add(program);
  }
  program.commandsGroup('Help:').helpCommand('help [command]', 'show the help of a command');
  addExamples(program);
  return program;
}

/** Runs one command line. @returns the exit code */
export async function main(argv: string[]): Promise<number> {
  exceptThisMachine();
  try {
    const program = createProgram();
    const run = () => program.parseAsync(argv, { from: 'user' });
    const tracing = SERVERS.includes(argv[0] ?? '') ? undefined : await openTracing();
    await (tracing ? tracing.span(commandName(program, argv), run) : run());
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok; // --help or --version
    if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage; // help was printed
    if (error instanceof GauntletError && error.code === 'NO_PROGRESS') endStuckThreads();
    return printError(error, argv.includes('--json'));
  } finally {
    useStore();
    await closeTracing();
  }
}

/** Kills the process unless it ends soon. A thread inside of a call that hangs never ends; `process.exit` waits for it. */
export function endStuckThreads(): void {
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), STUCK_MS).unref();
}

/** Returns the name of the command, such as 'gauntlet checkpoints show'. */
function commandName(command: Command, [first, ...rest]: string[]): string {
  const next = command.commands.find((each) => each.name() === first);
  return next ? `${command.name()} ${commandName(next, rest)}` : command.name();
}
