// `gauntlet harden`: adds tests to the problems of a set, so that fewer wrong programs pass.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { GauntletError } from '../../core/base/errors.js';
import { parseAs } from '../../core/base/issues.js';
import type { Ref } from '../../core/base/ref.js';
import { resolveConfig } from '../../core/config/presets.js';
import { shareInterval } from '../../core/evaluation/intervals.js';
import { runIdentity } from '../../core/schema/config.js';
import { type Packages, packagesSchema } from '../../core/schema/execution.js';
import type { Rejected } from '../../core/schema/problem.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { type Entries, openEntries } from '../../data/entries.js';
import { toRecord } from '../../data/formats/gauntlet.js';
import type { Hardened, HardeningTask } from '../../method/judge.js';
import { digestJson } from '../../store/canonicalJson.js';
import { openStore } from '../../store/openStore.js';
import type { Store } from '../../store/store.js';
import type { HardenProblemSetInput, hardenProblemSet } from '../../workflows/hardenProblemSet.js';
import { deepcoderRow } from '../export/deepcoder.js';
import { evalplusRow } from '../export/evalplus.js';
import { openRows } from '../input/jsonLines.js';
import { type LimitFlags, limitsOf, withLimits } from '../input/limitFlags.js';
import { integer, jsonOption, sandboxOption } from '../input/options.js';
import {
  PROBLEM_SOURCE,
  type ProvidedProblems,
  type ReadingFlags,
  withProblems,
  withReading,
} from '../input/problemSource.js';
import { notingActivities } from '../run/activityNotes.js';
import { noteUnused, type SessionFlags, withSession, withStore } from '../run/session.js';
import { counted, createOutput, interval, type Output, percent } from '../terminal/output.js';
import { openBoth } from '../terminal/resultLines.js';
import { openRowBar } from '../terminal/rowBar.js';

const ROWS = { gauntlet: toRecord, deepcoder: deepcoderRow, evalplus: evalplusRow };

interface Flags extends SessionFlags, ReadingFlags, LimitFlags {
  programs?: string;
  tests: number;
  as: keyof typeof ROWS;
  packages?: Packages;
  image?: string;
  out: string;
}

const PART = 16; // the least problems of an activity
const MOST_PARTS = 1000; // activities of a workflow, whose history has a limit
const EVERY_MS = 1000;

export function addHarden(program: Command): void {
  const command = program
    .command('harden')
    .description('add tests to the problems of a set that catch wrong programs which pass its tests; needs references')
    .argument('<problems>', PROBLEM_SOURCE)
    .requiredOption('-o, --out <file>', 'problem file to write')
    .option('--programs <file>', 'programs that may be wrong, beside mutants: JSON lines {task_id, solution}')
    .option('--tests <n>', 'the most tests that a problem gets', integer(1), 5)
    .addOption(new Option('--as <form>', 'form of the file').choices(Object.keys(ROWS)).default('gauntlet'))
    .addOption(sandboxOption())
    .addOption(new Option('--packages <set>', 'docker: packages that may be imported').choices(packagesSchema.options))
    .option('--image <image>', 'docker: an image with Python and the packages of the references');
  withLimits(withStore(withReading(command))).addOption(jsonOption());
  command.action((problems: string, flags: Flags) => withProblems(problems, flags, (provided) => run(provided, flags)));
}

async function run({ files: sources, options }: ProvidedProblems, flags: Flags): Promise<void> {
  const output = createOutput(flags.json);
  const store = await openStore(flags.store);
  const files = await openBoth(flags.out, 'cheating'); // fails before the work
  try {
    const programs = await programsIn(flags.programs);
    const { packages = 'none', image = null, tests } = flags;
    const config = resolveConfig({ limits: limitsOf(flags), containers: { packages, image } });
    const { parts, count, rejected } = await storeParts(store, await openEntries(sources, options), programs, output);
    const run = { runId: 'harden', engine: config.engine, config: await store.putJson(runIdentity(config)) };
    const hardened = await withSession(flags, output, 'if-none-poll', async (session) => {
      noteUnused(session, flags, output);
      return execute(session.client, { run, parts, tests }, { count, note: output.note });
    });
    const facts: Facts[] = [];
    const leftOut = [...rejected];
    for (const part of hardened)
      for (const one of await store.getJson(part)) {
        if ('reason' in one) {
          leftOut.push(one);
          continue;
        }
        const { problem, added, wrong, cheating, left } = one;
        facts.push({ added, wrong, passed: cheating.length, left });
        const row = ROWS[flags.as](problem, added);
        if (row) await files.main.write(row);
        for (const solution of cheating) await files.second.write({ task_id: problem.id, solution });
      }
    if (facts.length === 0) {
      const { id, reason } = leftOut[0] ?? { id: flags.out, reason: 'it has no problem' };
      throw new GauntletError('BAD_INPUT', `no problem can be used: ${id}: ${reason}`);
    }
    await files.second.commit();
    await files.main.commit();
    for (const { id, reason } of leftOut) output.note(`left out ${id}: ${reason}`);
    conclude(output, facts, leftOut, [flags.out, files.path]);
  } finally {
    await files.main.close();
    await files.second.close();
  }
}

const programSchema = z
  .object({ task_id: z.string(), solution: z.string() })
  .or(z.object({ id: z.string(), code: z.string() }).transform(({ id, code }) => ({ task_id: id, solution: code })));

/** Problem id → programs. */
async function programsIn(path: string | undefined): Promise<Map<string, string[]>> {
  const programs = new Map<string, string[]>();
  if (path === undefined) return programs;
  const rows = await openRows(path, (row) => parseAs(programSchema, row, 'BAD_INPUT'));
  try {
    for await (const { task_id, solution } of rows.read()) {
      const own = programs.get(task_id) ?? [];
      own.push(solution);
      programs.set(task_id, own);
    }
  } finally {
    await rows.close();
  }
  return programs;
}

/** Stores the problems in parts, so that no message and no memory has to hold all of them. */
async function storeParts(store: Store, entries: Entries, programs: Map<string, string[]>, output: Output) {
  let count = 0;
  const rejected: Rejected[] = [];
  for await (const entry of entries) 'reason' in entry ? rejected.push(entry) : count++;
  output.note(`${counted(count, 'problem')}, format ${entries.format}`);
  const size = Math.max(PART, Math.ceil(count / MOST_PARTS));
  const parts: Ref<HardeningTask[]>[] = [];
  let part: HardeningTask[] = [];
  const close = async (): Promise<void> => {
    if (part.length > 0) parts.push(await store.putJson(part));
    part = [];
  };
  for await (const entry of entries) {
    if (!('problem' in entry)) continue;
    part.push({ problem: entry.problem, programs: programs.get(entry.problem.id) ?? [] });
    if (part.length === size) await close();
  }
  await close();
  return { parts, count, rejected };
}

/** A command that was interrupted goes on: the same input has the same workflow id. */
async function execute(
  client: Client,
  input: HardenProblemSetInput,
  { count, note }: { count: number; note: Output['note'] },
): Promise<Ref<Hardened[]>[]> {
  const workflowId = `harden-${digestJson(input).slice(-12)}`;
  const handle = await client.workflow.start<typeof hardenProblemSet>('hardenProblemSet', {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId,
    workflowIdConflictPolicy: 'USE_EXISTING',
    args: [input],
  });
  const bar = openRowBar(count, 'problems');
  const ended = new AbortController();
  const draw = async (): Promise<void> => {
    for (;;) {
      await sleep(EVERY_MS, undefined, { signal: ended.signal });
      const done = await handle.query<number>('partsDone').catch(() => undefined);
      if (done !== undefined) bar.update(Math.round((count * done) / Math.max(1, input.parts.length)));
    }
  };
  draw().catch(() => undefined); // it ends with the work
  try {
    return await notingActivities(handle.result(), { client, id: workflowId, note });
  } finally {
    ended.abort();
    bar.stop();
  }
}

/** The numbers of added tests, of wrong programs, and of those that pass the given tests and are left by the new ones. */
type Facts = Record<'added' | 'wrong' | 'passed' | 'left', number>;

function conclude(
  output: Output,
  facts: readonly Facts[],
  leftOut: Rejected[],
  [out, cheating]: [string, string],
): void {
  const total = (field: keyof Facts): number => facts.reduce((sum, one) => sum + one[field], 0);
  const [tests, wrong, passed, left] = (['added', 'wrong', 'passed', 'left'] as const).map(total);
  const passable = (field: 'passed' | 'left') => {
    const problems = facts.filter((one) => one[field] > 0).length;
    const share = problems / facts.length;
    return { problems, share, ...shareInterval(share, facts.length) };
  };
  const [before, after] = [passable('passed'), passable('left')];
  const line = (name: string, one: typeof before): string =>
    `${name}: wrong programs pass the tests of ${percent(one.share)} of the problems (${interval(one)})`;
  output.result({ problems: facts.length, tests, programs: { wrong, passed, left }, before, after, leftOut }, () =>
    [
      `${counted(facts.length, 'problem')}: ${passed} of ${wrong} wrong programs pass the given tests, ${left} the new ones`,
      line('before', before),
      line('after', after),
      `${counted(tests!, 'test')} added; written to ${out}, the programs that passed to ${cheating}`,
    ].join('\n'),
  );
}
