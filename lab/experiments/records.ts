// The records of the experiments: one for each arm and seed, in a file of JSON lines that is sorted by arm and seed.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { METRIC_NAMES } from '../../core/evaluation/metrics.js';
import { evaluationRatesSchema } from '../../core/schema/run.js';
import { ROOT } from '../../infra/root.mjs';
import { writeAtomically } from '../../ml/hf/files.js';
import { ARMS, FAMILIES } from './arms.js';

export const recordSchema = z.strictObject({
  family: z.enum(FAMILIES),
  arm: z.string(),
  equal: z.enum(['updates', 'tokens']), // what is equal to the method: the number of updates or of tokens
  seed: z.int(),
  commit: z.string(),
  config: z.string(), // the digest of the arm's resolved configuration
  adapters: z.strictObject({ generator: z.string(), discriminator: z.string() }),
  results: z.string(), // the digest of the evaluation
  updates: z.int(), // updates of both roles, including the warm start
  tokens: z.int(), // the tokens sampled in training
  seconds: z.number(), // the seconds in activities of training steps
  metrics: z.partialRecord(z.enum(METRIC_NAMES), z.number()), // measured with the best checkpoint on the test split
  before: evaluationRatesSchema, // measured with the base model and one program per problem
  after: evaluationRatesSchema, // measured with the best checkpoint and one program per problem
});
export type ExperimentRecord = z.infer<typeof recordSchema>;
export type Key = Pick<ExperimentRecord, 'family' | 'arm' | 'equal' | 'seed'>;

export const recordsPath = (): string => join(ROOT, 'lab', 'experiments', 'records.jsonl');

export const sameKey = (a: Key, b: Key): boolean =>
  a.family === b.family && a.arm === b.arm && a.equal === b.equal && a.seed === b.seed;

export function readRecords(path: string): ExperimentRecord[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => recordSchema.parse(JSON.parse(line)));
}

/** Sorts by family, arm and seed. */
const place = ({ family, arm, equal, seed }: Key): number[] => [
  FAMILIES.indexOf(family),
  ARMS.findIndex(({ name }) => name === arm),
  Number(equal === 'tokens'),
  seed,
];
function order(a: Key, b: Key): number {
  const [left, right] = [place(a), place(b)];
  const first = left.findIndex((value, i) => value !== right[i]);
  return first < 0 ? 0 : left[first]! - right[first]!;
}

/** Replaces the record with the same key. */
export function saveRecord(path: string, record: ExperimentRecord): void {
  const records = [...readRecords(path).filter((one) => !sameKey(one, record)), record];
  const lines = records.toSorted(order).map((one) => `${JSON.stringify(one)}\n`);
  writeAtomically(path, (fd) => writeFileSync(fd, lines.join('')));
}
