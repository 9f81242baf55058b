// One record for each arm and seed, and the file that holds them: JSON lines, in the order of arms and seeds.
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
  equal: z.enum(['updates', 'tokens']), // to the method's
  seed: z.int(),
  commit: z.string(),
  config: z.string(), // digest of what the arm resolves to
  adapters: z.strictObject({ generator: z.string(), discriminator: z.string() }),
  results: z.string(), // digest of the evaluation
  updates: z.int(), // of both roles, warm start included
  tokens: z.int(), // sampled in training
  seconds: z.number(), // in activities of training steps
  metrics: z.partialRecord(z.enum(METRIC_NAMES), z.number()), // of the best checkpoint on the test split
  before: evaluationRatesSchema, // of the base model, one program a problem
  after: evaluationRatesSchema, // of the best checkpoint, likewise
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

/** Families, arms and seeds in this order. */
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
