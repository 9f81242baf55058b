// What a format of problem files is to the rest: it recognises a record by its fields and turns it into a problem.
import { z } from 'zod';
import type { Problem } from '../../core/schema/problem.js';
import type { Value } from '../../core/schema/value.js';
import type { SourceRecord } from '../records.js';

export const FORMATS = ['gauntlet', 'humaneval', 'mbpp', 'evalplus', 'livecodebench', 'codecontests'] as const;
export type FormatName = (typeof FORMATS)[number];

export interface Draft {
  problem: Problem;
  /** Inputs whose expected values are what the reference answers; the health gate makes tests of them. */
  inputs?: { baseline: Value[][]; hidden: Value[][] };
}

export interface ProblemFormat {
  readonly name: FormatName;
  /** True where these are this format's fields. */
  recognises(record: object): boolean;
  /** @throws FieldProblem, Unusable */
  read(record: SourceRecord): Draft;
}

/** A field is missing or of another type: the file is not what it was taken for, and nothing of it is used. */
export class FieldProblem extends Error {}

/** The record is well formed and yet no problem that can be used: it is quarantined for this reason. */
export class Unusable extends Error {}

export const text = z.string().refine((value) => value.trim() !== '', 'must not be empty');
export const idText = z.union([text, z.int().transform(String)]);

/** @throws FieldProblem naming the first field that is wrong */
export function parseFields<T extends z.ZodType>(schema: T, json: unknown): z.output<T> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const field = issue.path.join('.');
  if (field === '') throw new FieldProblem('is not a problem: an object is expected');
  const missing = issue.path.length === 1 && !Object.hasOwn(json as object, field);
  throw new FieldProblem(missing ? `missing field \`${field}\`` : `field \`${field}\`: ${issue.message}`);
}

/** Without absent fields: problems are stored as JSON. */
export const definedOnly = <T extends object>(record: T): T =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined)) as T;

export const hasFields = (record: object, ...names: string[]): boolean =>
  names.every((name) => Object.hasOwn(record, name));
