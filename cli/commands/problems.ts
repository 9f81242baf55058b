// `gauntlet problems check | import`: runs every reference against its own tests; import writes the healthy problems.
import { type Command, Option } from 'commander';
import type { SandboxKind } from '../../core/schema/config.js';
import type { Limits } from '../../core/schema/execution.js';
import { type Entries, type Entry, openEntries, type ReadingOptions } from '../../data/entries.js';
import { toRecord } from '../../data/formats/gauntlet.js';
import { examineProblem, type Health } from '../../sandbox/healthGate.js';
import type { Sandbox } from '../../sandbox/sandbox.js';
import { openSandbox } from '../../workers/deps/openSandbox.js';
import { type LimitFlags, limitsOf, withLimits } from '../input/limitFlags.js';
import { ANY_SANDBOX, jsonOption, sandboxOption } from '../input/options.js';
import { inOrder } from '../input/ordered.js';
import {
  noteUnread,
  PROBLEM_SOURCE,
  type ProvidedProblems,
  type ReadingFlags,
  withProblems,
  withReading,
} from '../input/problemSource.js';
import { openCounter } from '../terminal/counter.js';
import { interruptible } from '../terminal/interrupt.js';
import { counted, createOutput, type Output } from '../terminal/output.js';
import { openBoth } from '../terminal/resultLines.js';
import { openRowBar } from '../terminal/rowBar.js';

interface Flags extends LimitFlags, ReadingFlags {
  sandbox?: SandboxKind;
  packages?: 'none' | 'numpy';
  out?: string;
  json?: boolean;
}

interface Quarantined {
  id: string;
  reason: string;
}

const WINDOW = 8; // how many problems are examined at a time; few, because the tests of one may be megabytes
/** The suites of data sets are much larger than those of a training step, so references get more time. */
const LIMITS: LimitFlags = { cpuSeconds: 60, caseCpuSeconds: 30, wallSeconds: 180, memoryMb: 1024 };

export function addProblems(program: Command): void {
  const problems = program.command('problems').description('check problem files, and import other formats');
  const check = problems
    .command('check')
    .description('run every reference of a problem file against its own tests and name what fails, with the reason');
  shared(check).action(examine);
  const importing = problems
    .command('import')
    .description('check a problem file and write the healthy problems for `gauntlet train --problems`')
    .requiredOption('-o, --out <file>', 'problem file to write; quarantined problems go to <file>.quarantined.jsonl');
  shared(importing).action(examine);
}

function shared(command: Command): Command {
  command
    .argument('<problems>', `${PROBLEM_SOURCE}; - is standard input`)
    .addOption(sandboxOption(ANY_SANDBOX))
    .addOption(
      new Option('--packages <set>', 'packages that references may import').choices(['none', 'numpy']).default('none'),
    );
  return withLimits(withReading(command), LIMITS).addOption(jsonOption());
}

const examine = (problems: string, flags: Flags): Promise<void> =>
  withProblems(problems, flags, (provided) => run(problems, provided, flags));

async function run(name: string, { files, options, source }: ProvidedProblems, flags: Flags): Promise<void> {
  const output = createOutput(flags.json);
  const counter = openCounter('problems read');
  const read = openCounted(files, { ...options, onRecord: counter.update });
  const { entries, count } = await read.finally(counter.stop);
  const shown = name.startsWith('hf:') ? source : name;
  output.note(`${shown}: ${counted(count, 'problem')}, format ${entries.format}`);
  noteUnread(entries.unread, output.note);
  await interruptible(async (stop) => {
    const files = flags.out === undefined ? undefined : await openBoth(flags.out, 'quarantined');
    let sandbox: Sandbox | undefined;
    const bar = openRowBar(count, 'problems');
    try {
      sandbox = await openSandbox(flags.sandbox ?? 'auto', { log: output.note, packages: flags.packages });
      const limits = { ...LIMITS, ...limitsOf(flags) };
      const quarantined: Quarantined[] = [];
      let total = 0;
      const examine = (entry: Entry) => examineEntry(entry, sandbox!, limits, stop.signal);
      for await (const { id, health } of inOrder(entries, WINDOW, examine)) {
        total++;
        if ('reason' in health) {
          quarantined.push({ id, reason: health.reason });
          await files?.second.write({ id, reason: health.reason });
          if (!output.json) output.note(`${id}: ${health.reason}`);
        } else {
          if (health.leftOut) output.note(`left out ${health.leftOut.id}: ${health.leftOut.reason}`);
          await files?.main.write(toRecord(health.problem));
        }
        bar.update(total, `${quarantined.length} quarantined`);
      }
      await files?.second.commit();
      await files?.main.commit();
      bar.stop();
      conclude(output, { total, healthy: total - quarantined.length, quarantined }, flags.out, files?.path);
    } finally {
      bar.stop();
      stop.abort(); // after a fault, other problems may still be running
      await files?.main.close();
      await files?.second.close();
      await sandbox?.close();
    }
  });
}

/** Reads the whole file first, so that a bad file is refused before anything runs. */
async function openCounted(files: string[], options: ReadingOptions): Promise<{ entries: Entries; count: number }> {
  const entries = await openEntries(files, options);
  let count = 0;
  for await (const _ of entries) count++;
  return { entries, count };
}

async function examineEntry(
  entry: Entry,
  sandbox: Sandbox,
  limits: Partial<Limits>,
  signal: AbortSignal,
): Promise<{ id: string; health: Health }> {
  if ('reason' in entry) return { id: entry.id, health: { reason: entry.reason } };
  const { problem } = entry;
  return { id: problem.id, health: await examineProblem(problem, sandbox, { limits, signal }) };
}

function conclude(
  output: Output,
  summary: { total: number; healthy: number; quarantined: Quarantined[] },
  out: string | undefined,
  rest: string | undefined,
): void {
  const { total, healthy, quarantined } = summary;
  const written = out === undefined ? '' : `; written to ${out}, the rest to ${rest}`;
  output.result(
    summary,
    () => `${healthy} of ${counted(total, 'problem')} healthy, ${quarantined.length} quarantined${written}`,
  );
}
