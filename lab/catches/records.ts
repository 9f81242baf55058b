// The records of the catches: the programs that each arm caught with each seed, the costs of the arms, the rarity of each
// mistake, and the quality of programs after training with each arm's tests.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { SPLITS } from '../../core/schema/problem.js';
import { ROOT } from '../../infra/root.mjs';
import { writeAtomically } from '../../ml/hf/files.js';
import { STRATA, type Stratum } from '../families/keyhole/family.js';
import { FROZEN, type FrozenFamily } from './frozen.js';
import { SUITE_ARMS } from './generator/suites.js';
import { GRID } from './measure.js';

const family = z.enum(Object.keys(FROZEN) as [FrozenFamily, ...FrozenFamily[]]);

/** The number of programs in a cell, and how many of them the first GRID[i] inputs catch. */
const cellSchema = z.strictObject({ count: z.int(), caught: z.array(z.int()).length(GRID.length) });
export type Cell = z.infer<typeof cellSchema>;

const catchesSchema = z.strictObject({
  kind: z.literal('catches'),
  family,
  split: z.enum(SPLITS),
  arm: z.string(),
  seed: z.int(),
  commit: z.string(),
  /** Keys: 'computed', 'computed missing' (kind of mistake). */
  cells: z.record(z.string(), cellSchema),
  model: z
    .strictObject({
      inputs: z.number(), // the mean number of inputs that the model writes for a program; `dictionary` draws the others
      tokens: z.number(), // the tokens sampled for each of these inputs
      seconds: z.number(), // the CPU seconds of a sampled token, including a share of the prompt
    })
    .optional(), // absent for a control
  search: z.number().optional(), // of an arm that searches: how many calls in one Python cost as much as the search for a program
});
export type CatchesRecord = z.infer<typeof catchesSchema>;

const pricesSchema = z.strictObject({
  kind: z.literal('prices'),
  commit: z.string(),
  machine: z.string(),
  call: z.strictObject({ sandbox: z.number(), inProcess: z.number() }), // CPU seconds of a call
  draw: z.record(z.string(), z.number()), // control → CPU seconds of an input
});
export type Prices = z.infer<typeof pricesSchema>;

const sharesSchema = z.strictObject(
  Object.fromEntries(['right', 'readable', ...STRATA].map((name) => [name, z.number()])) as Record<
    'right' | 'readable' | Stratum,
    z.ZodNumber
  >,
);
export type Shares = z.infer<typeof sharesSchema>; // shares of sampled programs

/** The record of a generator of the family `keyhole`, measured on its fresh problems. */
const programsSchema = z.strictObject({
  kind: z.literal('programs'),
  split: z.enum(SPLITS),
  arm: z.enum(SUITE_ARMS), // the arm that wrote the tests
  seed: z.int(),
  commit: z.string(),
  updates: z.int(),
  trained: z.int(), // the number of answers with an advantage
  before: sharesSchema,
  after: sharesSchema,
});
export type ProgramsRecord = z.infer<typeof programsSchema>;

const shareSchema = z.strictObject({ hard: z.number(), all: z.number(), valid: z.number(), aim: z.number() });

/** The record of a discriminator of `nested` before and after reinforcement: shares of programs caught, and of valid tests. */
const reinforcedSchema = z.strictObject({
  kind: z.literal('reinforced'),
  split: z.enum(SPLITS),
  arm: z.enum(['discrimination', 'shifted', 'placebo']), // the rewards
  seed: z.int(),
  commit: z.string(),
  updates: z.int(),
  trained: z.int(), // the number of turns with an advantage
  before: shareSchema,
  after: shareSchema,
});
export type ReinforcedRecord = z.infer<typeof reinforcedSchema>;

/** The record of a writer of tests against programs of real models, which lab/catches/real.jsonl.gz has in this order. */
const realSchema = z.strictObject({
  kind: z.literal('real'),
  arm: z.string(), // the writer
  seed: z.int(),
  commit: z.string(),
  ranks: z.array(z.int()), // the first test that catches the program, from 1; 0 if none does, -1 if it was not given
});
export type RealRecord = z.infer<typeof realSchema>;

const recordSchema = z.discriminatedUnion('kind', [
  pricesSchema,
  catchesSchema,
  programsSchema,
  reinforcedSchema,
  realSchema,
]);
export type CatchRecord = z.infer<typeof recordSchema>;

export const catchRecordsPath = (): string => join(ROOT, 'lab', 'catches', 'records.jsonl');

/** A record replaces an earlier record with the same key. */
type Key = 'kind' | 'split' | 'arm' | 'seed';
export function keyOf(record: CatchRecord | Pick<ProgramsRecord, Key> | Pick<ReinforcedRecord, Key>): string {
  if (record.kind === 'prices') return '0';
  if (record.kind === 'programs') return `3 ${record.split} ${record.arm} ${record.seed}`;
  if (record.kind === 'reinforced') return `4 ${record.split} ${record.arm} ${record.seed}`;
  if (record.kind === 'real') return `5 ${record.arm} ${record.seed}`;
  return `2 ${record.family} ${record.split} ${record.arm} ${record.seed}`;
}

/** The rows of a file of data beside this one. */
export const rowsIn = <Row>(name: string): Row[] =>
  gunzipSync(readFileSync(join(ROOT, 'lab', 'catches', name)))
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row);

export function readCatchRecords(path: string): CatchRecord[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => recordSchema.parse(JSON.parse(line)));
}

export function saveCatchRecord(path: string, record: CatchRecord): void {
  const others = readCatchRecords(path).filter((one) => keyOf(one) !== keyOf(record));
  const all = [...others, record].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  writeAtomically(path, (fd) => writeFileSync(fd, all.map((one) => `${JSON.stringify(one)}\n`).join('')));
}

export interface Records {
  all(): CatchRecord[];
  save(record: CatchRecord): void;
}

export const fileRecords = (path: string): Records => ({
  all: () => readCatchRecords(path),
  save: (record) => saveCatchRecord(path, record),
});

export function memoryRecords(): Records {
  const kept: CatchRecord[] = [];
  return { all: () => kept, save: (record) => void kept.push(record) };
}

/** The arms in the order of the tables. */
const ARM_ORDER = [
  ...['mutation', 'dictionary', 'search', 'search-reference', 'crosshair', 'by-hand'],
  ...['untrained', 'blind', 'trained', 'public', 'hybrid', 'blind-hybrid', 'public-hybrid'],
];

export interface Row {
  arm: string;
  records: CatchesRecord[]; // one record per seed
}

export const rowsOf = (records: readonly CatchesRecord[]): Row[] =>
  ARM_ORDER.flatMap((arm) => {
    const own = records.filter((record) => record.arm === arm);
    return own.length === 0 ? [] : [{ arm, records: own }];
  });
