// `gauntlet sandbox run`: judges programs by tests, without a model. A failed test is a result, so the exit code is 0.
import { type Command, Option } from 'commander';
import { OUTCOME_ORDER } from '../../core/comparison/compare.js';
import type { SandboxKind } from '../../core/schema/config.js';
import { type Limits, type Packages, packagesSchema, type Verdict } from '../../core/schema/execution.js';
import { judgePrograms, judgeSources, type ProgramOutcome } from '../../sandbox/judgePrograms.js';
import { MODES, type Mode, parseProgramRow, parseSourceRow } from '../../sandbox/programRows.js';
import type { RunOptions, Sandbox } from '../../sandbox/sandbox.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { openRows } from '../input/jsonLines.js';
import { limitsOf, withLimits } from '../input/limitFlags.js';
import { ANY_SANDBOX, integer, jsonOption, sandboxOption } from '../input/options.js';
import { inOrder } from '../input/ordered.js';
import { interruptible } from '../terminal/interrupt.js';
import { createOutput } from '../terminal/output.js';
import { openResults, type Results } from '../terminal/resultLines.js';
import { openRowBar } from '../terminal/rowBar.js';
import { addSandboxServe } from './sandboxServe.js';

interface Flags extends Partial<Limits> {
  input: string;
  output?: string;
  sandbox?: SandboxKind;
  mode: Mode;
  packages?: Packages;
  parallel?: number;
  json?: boolean;
}

const WINDOW = 64; // how many rows are judged at a time: more than any pool runs at once

export function addSandbox(program: Command): void {
  const sandbox = program.command('sandbox').description('run programs in the sandbox');
  const command = sandbox
    .command('run')
    .description(
      'judge programs by tests: rows {id, code, entry, tests: [[args], expected]} or {id, code, test_source} → {id, outcome, tests, ms}',
    )
    .requiredOption('-i, --input <file>', 'JSON lines; - for standard input')
    .option('-o, --output <file>', 'file for the JSON lines (default: standard output)')
    .addOption(sandboxOption(ANY_SANDBOX))
    .addOption(
      new Option('--mode <mode>', 'how tests are given: values, bare asserts or pytest')
        .choices([...MODES])
        .default('values'),
    )
    .addOption(
      new Option('--packages <set>', 'docker: packages that programs may import').choices(packagesSchema.options),
    )
    .option('--parallel <n>', 'programs at a time (default: one per core)', integer(1));
  withLimits(command);
  command.addOption(jsonOption('program')).action((flags: Flags) => run(flags));
  addSandboxServe(sandbox);
}

async function run(flags: Flags): Promise<void> {
  const { input, output: path, sandbox: kind = 'auto', mode, packages } = flags;
  const output = createOutput(flags.json);
  const judge = judgeOf(mode, limitsOf(flags));
  const rows = await openRows(input, judge.parse, mode === 'values' ? 'tests' : undefined);
  await interruptible(async (stop) => {
    let sandbox: Sandbox | undefined;
    let results: Results | undefined;
    const bar = openRowBar(rows.count, 'programs');
    try {
      sandbox = await openSandbox(kind, { log: output.note, size: flags.parallel, packages });
      results = await openResults(path);
      const counts = new Map<Verdict, number>();
      let done = 0;
      const judged = inOrder(rows.read(), WINDOW, (row) => judge.run(row, sandbox!, { signal: stop.signal }));
      for await (const outcome of judged) {
        if (path !== undefined || flags.json) await results.write(outcome);
        else output.result(outcome, () => line(outcome));
        counts.set(outcome.outcome, (counts.get(outcome.outcome) ?? 0) + 1);
        bar.update(++done, tally(counts));
      }
      await results.commit();
      bar.stop();
      output.note(`${done} ${done === 1 ? 'program' : 'programs'}: ${tally(counts)}`);
    } finally {
      bar.stop();
      stop.abort(); // after a fault, other programs may still be running
      await results?.close();
      await sandbox?.close();
      await rows.close();
    }
  });
}

interface Judge<T> {
  parse(row: unknown): T;
  run(row: T, sandbox: Sandbox, options: RunOptions): Promise<ProgramOutcome>;
}

function judgeOf(mode: Mode, limits: Partial<Limits>): Judge<unknown> {
  const forMode = <T>(judge: Judge<T>): Judge<unknown> => judge as Judge<unknown>; // `run` only gets what `parse` returned
  if (mode === 'values')
    return forMode({
      parse: parseProgramRow,
      run: async (row, sandbox, options) => (await judgePrograms([row], sandbox, { limits, ...options }))[0]!,
    });
  return forMode({
    parse: (row) => parseSourceRow(row, mode),
    run: async (row, sandbox, options) => (await judgeSources([row], mode, sandbox, { limits, ...options }))[0]!,
  });
}

function line({ id, outcome, tests, messages, ms }: ProgramOutcome): string {
  const said = messages.find((message) => message !== null);
  return `${outcome.padEnd(8)} ${id} (${tests.join(' ')}; ${ms.toFixed(1)} ms)${said ? ` ${said}` : ''}`;
}

/** Returns counts such as '3 pass, 1 fail', with the best verdict first. */
const tally = (counts: ReadonlyMap<Verdict, number>): string =>
  OUTCOME_ORDER.toReversed()
    .flatMap((verdict) => (counts.has(verdict) ? [`${counts.get(verdict)} ${verdict}`] : []))
    .join(', ');
