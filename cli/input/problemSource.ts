// Reads the problems that a command names (built in, in files, folders or standard input, or a data set of the hub), and prints
// notes about them.
import { stat } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import type { Ref } from '../../core/base/ref.js';
import { isBuiltIn, type Problem, type Rejected } from '../../core/schema/problem.js';
import { type ReadingOptions, readReferences } from '../../data/entries.js';
import { FORMATS, type FormatName } from '../../data/formats/format.js';
import { isFamily, shippedModelPath } from '../../data/paths.js';
import { type CheckedProblems, checkProblems, loadProblems } from '../../data/problems.js';
import { absoluteSource, parseSource, provideSource, readingOptions, sourceText } from '../../data/source.js';
import { readTasks } from '../../inference/tasks.js';
import { loadTokenizer } from '../../ml/hf/tokenizer.js';
import { NO_REFERENCE } from '../../sandbox/healthGate.js';
import type { Store } from '../../store/store.js';
import { openCounter } from '../terminal/counter.js';
import { counted, type Output } from '../terminal/output.js';
import { withDownloadBar } from './downloadBar.js';
import { rereadable } from './jsonLines.js';

export interface ReadingFlags {
  format?: FormatName | 'auto';
  map?: string;
  references?: string;
}

/** The sources from which commands read problems, as the help of these commands describes them. */
export const PROBLEM_SOURCE =
  'a problem file (JSON, JSON lines, Parquet; also with gzip or zstd), a folder of such files, or hf:OWNER/NAME of the hub';

export const withReading = (command: Command): Command =>
  command
    .addOption(new Option('--format <name>', 'format of the problems (default: auto)').choices(['auto', ...FORMATS]))
    .option(
      '--map <columns>',
      'columns of the problems, e.g. description=question,tests=test_cases; may be repeated',
      (given: string, before?: string) => (before === undefined ? given : `${before},${given}`),
    )
    .option('--references <file>', 'solutions for problems without any: JSON lines {id, code}');

/** Adds to a source what the flags say about it, and makes its paths absolute. @throws GauntletError BAD_INPUT */
export function sourceWith(text: string, { format, map, references }: ReadingFlags): string {
  const [flag] = Object.entries({ format, map, references }).find(([, value]) => value !== undefined) ?? [];
  if (flag !== undefined && isBuiltIn(text))
    throw new GauntletError('BAD_INPUT', `--${flag}: needs --problems that are not built in`);
  return absoluteSource(text, { format, map, references });
}

export interface ProvidedProblems {
  files: string[];
  options: ReadingOptions;
  /** The source; for a data set of the hub, also with its commit. */
  source: string;
}

/** The files of a source that is not built in, for as long as `use` runs: a pipe is copied, a data set downloaded. */
export async function withProblems<T>(
  text: string,
  flags: ReadingFlags,
  use: (provided: ProvidedProblems) => Promise<T>,
): Promise<T> {
  const { format, map } = flags;
  const given = parseSource(text, { format, map });
  const references =
    flags.references === undefined ? undefined : await withProblemFile(flags.references, readReferences);
  return withProblemFile(given.place, async (place) => {
    const { files, source } = await withDownloadBar(given.place, (onProgress) =>
      provideSource({ ...given, place }, onProgress),
    );
    const options = { ...(await readingOptions(source)), ...(references && { references }) };
    return use({ files, options, source: sourceText(source) });
  });
}

/** @param skip is called with every record that cannot be used. @throws GauntletError BAD_INPUT */
export async function readSource(
  source: string,
  flags: ReadingFlags,
  skip: (id: string, reason: string) => void,
): Promise<Problem[]> {
  if (isBuiltIn(source)) return (await loadProblems(sourceWith(source, flags))).test;
  return withProblems(source, flags, async ({ files, options }) => {
    const { tasks, rejected } = await readTasks(files, options);
    for (const { id, reason } of rejected) skip(id, reason);
    return tasks;
  });
}

const MOST_NOTED = 20; // how many records that cannot be used are noted
const FEW_PROBLEMS = 5; // in a split whose figures say little
/**
 * Tokens per word of a description: at most 1.4 in the problems for which a shipped model was made. Others have more than 1.6,
 * because its small vocabulary spells their words.
 */
const SPELLED = 1.5;

/** What matters about problems if a run trains on them. */
interface Training {
  model: string;
  needsReferences: boolean; // whether a problem without a reference solution cannot be used
}

/**
 * Checks the problems of a run, and notes which of them cannot be used or measured.
 * @param training undefined if no run trains on them
 * @returns the source; for a data set of the hub, also with its commit
 * @throws GauntletError BAD_INPUT
 */
export async function noteProblems(text: string, note: Output['note'], training?: Training): Promise<string> {
  const { needsReferences = false, model = '' } = training ?? {};
  if (isBuiltIn(text)) {
    await checkProblems(text);
    if (isFamily(model) && text !== model) note(otherFamily(model));
    return text;
  }
  const { place } = parseSource(text);
  if (place === '-' || (await isPipe(place))) {
    const why = 'a run reads its problems more than once, also after a restart';
    throw new GauntletError('BAD_INPUT', `problems: ${why}: write them to a file instead of a pipe`);
  }
  return withProblems(text, {}, async ({ source }) => {
    const counter = openCounter('problems read');
    try {
      const checked = await checkProblems(source, { onRecord: counter.update });
      counter.stop();
      const { format, unread, total, rejected, untested, unreferenced } = checked!;
      if (needsReferences && unreferenced === total - rejected.length)
        throw new GauntletError('BAD_INPUT', `${place}: every problem has ${NO_REFERENCE}`);
      if (format !== 'gauntlet' || total > 1000)
        note(`${place}: ${counted(total, 'problem')}, format ${format}${unusable(rejected.length)}`);
      noteUnread(unread, note);
      for (const { id, reason } of rejected.slice(0, MOST_NOTED)) note(`skipped ${id}: ${reason}`);
      if (rejected.length > MOST_NOTED) note(`skipped ${rejected.length - MOST_NOTED} more`);
      if (needsReferences && unreferenced > 0) note(`skipped ${counted(unreferenced, 'problem')}: ${NO_REFERENCE}`);
      if (untested > 0) note(`${counted(untested, 'problem')} without tests: no program counts as a solution`);
      if (training) for (const line of doubts(checked!, model)) note(line);
    } finally {
      counter.stop();
    }
    return source;
  });
}

const otherFamily = (model: string): string =>
  `model '${model}' was made for the problems '${model}' and solves few others: choose a preset of a public model`;

/** Why the figures of a run on these problems may say little. */
function doubts({ splits, descriptions }: CheckedProblems, model: string): string[] {
  const small = (['validation', 'test'] as const).filter((split) => splits[split].length < FEW_PROBLEMS);
  const sizes = small.map((split) => `${split} has ${counted(splits[split].length, 'problem')}`).join(', ');
  const few = small.length === 0 ? [] : [`${sizes}: figures of so few say little`];
  if (!isFamily(model)) return few;
  const text = descriptions.join('\n');
  const tokens = loadTokenizer(shippedModelPath(model)).encode(text).length;
  return tokens > SPELLED * text.split(/\s+/).length ? [...few, otherFamily(model)] : few;
}

export function noteUnread(unread: ReadonlySet<string>, note: Output['note']): void {
  const names = [...unread].map((name) => `\`${name}\``).join(', ');
  if (names !== '') note(`not read, but may hold tests: ${names}; name the columns with --map to read others`);
}

const unusable = (count: number): string => (count === 0 ? '' : `, ${count} cannot be used`);

/** Tells which problems a workflow left out. */
export async function noteSkipped(
  store: Store,
  skipped: Ref<Rejected[]> | undefined,
  note: Output['note'],
): Promise<void> {
  if (skipped === undefined) return;
  for (const { id, reason } of await store.getJson(skipped)) note(`skipped ${id}: ${reason}`);
}

/** Passes on a problem file that can be read several times: a copy of a pipe, or of standard input for `-`. */
async function withProblemFile<T>(path: string, use: (file: string) => Promise<T>): Promise<T> {
  if (path !== '-' && !(await isPipe(path))) return use(path);
  const { file, close } = await rereadable(path);
  try {
    return await use(file);
  } finally {
    await close();
  }
}

async function isPipe(path: string): Promise<boolean> {
  const kind = await stat(path).catch(() => undefined);
  return kind?.isFIFO() === true || kind?.isSocket() === true;
}
