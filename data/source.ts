// One text names the source of problems: a problem file, a folder of problem files, or a data set of the hub, with options
// after a question mark: `sets/mine.parquet?map=description:question,tests:cases`, `hf:owner/name?config=taco&split=train`. The
// configuration of a run keeps this text, so every worker reads the same problems.
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { GauntletError } from '../core/base/errors.js';
import { isBuiltIn } from '../core/schema/problem.js';
import { type Entries, openEntries, type ReadingOptions, readReferences } from './entries.js';
import { type Columns, FORMATS, type FormatName, PARTS, type Part } from './formats/format.js';
import { type Dataset, datasetFiles } from './hub/dataset.js';
import type { DownloadProgress } from './hub/download.js';

const OPTIONS = ['config', 'split', 'revision', 'format', 'map', 'references'] as const;
const OF_HUB: readonly string[] = ['config', 'split', 'revision'];
type Option = (typeof OPTIONS)[number];

const PROBLEM_FILE = /\.(jsonl?(\.(gz|zst))?|parquet)$/;
/** A name or an address of the hub. */
const LIKE_HUB = /^(?:https?:\/\/[^/]+\/datasets\/)?([\w-][\w.-]*\/[\w-][\w.-]*)(?:\/(?:tree|viewer|blob)\/.*)?$/;

export interface Source {
  place: string; // a path, or hf:owner/name
  options: Partial<Record<Option, string>>;
}

/** Parses a source. `others` replace options in the text. @throws GauntletError BAD_INPUT */
export function parseSource(text: string, others: Source['options'] = {}): Source {
  const at = isOfHub(text) || !existsSync(text) ? text.indexOf('?') : -1; // a file may have a question mark in its name
  const place = at < 0 ? text : text.slice(0, at);
  const id = existsSync(place) || PROBLEM_FILE.test(place) ? undefined : LIKE_HUB.exec(place)?.[1];
  if (id !== undefined) throw bad(text, `no such file; a data set of the hub is written hf:${id}`);
  const pairs = at < 0 ? [] : text.slice(at + 1).split('&');
  const given = pairs.map((pair) => [pair.split('=', 1)[0]!, decoded(pair.slice(pair.indexOf('=') + 1))] as const);
  const allowed = OPTIONS.filter((name) => isOfHub(place) || !OF_HUB.includes(name));
  const unknown = given.find(([name]) => !(allowed as string[]).includes(name));
  if (unknown) throw bad(text, `no option \`${unknown[0]}\`; there are ${allowed.join(', ')}`);
  const present = Object.entries(others).filter(([, value]) => value !== undefined);
  const options: Source['options'] = { ...Object.fromEntries(given), ...Object.fromEntries(present) };
  if (isOfHub(place)) datasetOf({ place, options });
  readingOf({ place, options });
  return { place, options };
}

export function sourceText({ place, options }: Source): string {
  const pairs = OPTIONS.flatMap((name) => {
    const value = options[name];
    return value === undefined ? [] : [`${name}=${value.replace(/[%&]/g, encodeURIComponent)}`];
  });
  return pairs.length === 0 ? place : `${place}?${pairs.join('&')}`;
}

const isOfHub = (text: string): boolean => text.startsWith('hf:');
const bad = (text: string, why: string): GauntletError =>
  new GauntletError('BAD_INPUT', `problems: \`${text}\`: ${why}`);

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** The source with absolute paths, which names the same problems from every folder. */
export function absoluteSource(text: string, others: Source['options'] = {}): string {
  if (isBuiltIn(text)) return text;
  const { place, options } = parseSource(text, others);
  const { references } = options;
  return sourceText({
    place: isOfHub(place) ? place : resolve(place),
    options: { ...options, ...(references !== undefined && { references: resolve(references) }) },
  });
}

/** `description=question,tests=cases`, also with `:`. @throws GauntletError BAD_INPUT */
export function parseMap(text: string): Columns {
  const pairs = text.split(',').map((pair) => /^\s*(\w+)\s*[=:]\s*(\S(?:.*\S)?)\s*$/.exec(pair));
  const wrong = pairs.findIndex((pair) => !PARTS.includes(pair?.[1] as Part));
  if (wrong < 0) return Object.fromEntries(pairs.map((pair) => [pair![1]!, [pair![2]!]]));
  const given = text.split(',')[wrong]!;
  throw new GauntletError('BAD_INPUT', `--map: \`${given}\`: write PART=COLUMN, with one of ${PARTS.join(', ')}`);
}

function readingOf({ place, options }: Source): Pick<ReadingOptions, 'format' | 'map'> {
  const { format = 'auto', map } = options;
  if (format !== 'auto' && !FORMATS.includes(format as FormatName))
    throw bad(place, `no format \`${format}\`; there are ${FORMATS.join(', ')}`);
  if (format === 'columns' && map === undefined)
    throw bad(place, 'the format `columns` needs --map description=COLUMN,tests=COLUMN');
  return { format: format as FormatName | 'auto', ...(map !== undefined && { map: parseMap(map) }) };
}

function datasetOf({ place, options: { config, split, revision } }: Source): Dataset {
  const id = /^hf:([\w-][\w.-]*\/[\w-][\w.-]*)$/.exec(place)?.[1];
  if (id === undefined) throw bad(place, 'write hf:OWNER/NAME');
  if (revision !== undefined && !/^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(revision))
    throw bad(place, 'the revision must be a branch, a tag or a commit');
  return { id, config, split, revision };
}

/** Provides the files of a source. Downloads a data set of the hub; its commit becomes the revision of the source. */
export async function provideSource(
  source: Source,
  onProgress?: (progress: DownloadProgress) => void,
): Promise<{ files: string[]; source: Source }> {
  const { place, options } = source;
  if (isOfHub(place)) {
    const { files, ...pinned } = await datasetFiles(datasetOf(source), onProgress);
    return { files, source: { place, options: { ...options, ...pinned } } };
  }
  if (!(await stat(place).catch(() => undefined))?.isDirectory()) return { files: [place], source };
  const names = (await readdir(place)).filter((name) => PROBLEM_FILE.test(name)).sort();
  if (names.length > 0) return { files: names.map((name) => join(place, name)), source };
  const what = '*.json, *.jsonl, also with .gz or .zst, *.parquet';
  throw new GauntletError('BAD_INPUT', `${place}: has no problem files (${what})`);
}

/** How the files of a source are read. */
export async function readingOptions(source: Source): Promise<ReadingOptions> {
  const { references } = source.options;
  return { ...readingOf(source), ...(references !== undefined && { references: await readReferences(references) }) };
}

export type SourceOptions = ReadingOptions & { onDownload?: (progress: DownloadProgress) => void };

/** The entries of a source without pipes, whose files can be read again. @throws GauntletError BAD_INPUT, HUB_FAULT */
export async function entriesOf(text: string, { onDownload, ...options }: SourceOptions = {}): Promise<Entries> {
  const source = parseSource(text);
  const { files } = await provideSource(source, onDownload);
  return openEntries(files, { ...(await readingOptions(source)), ...options });
}
