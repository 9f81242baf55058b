// Problem files of people: JSON or JSON lines in the schema of METHOD.md §5, read strictly. Every refusal is one line
// that names the file, the line or index, and the field.
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { z } from 'zod';
import { GauntletError } from '../core/errors.js';
import { type Problem, problemSchema } from '../core/schema/problem.js';
import { readAssertions } from './assertions.js';
import { parseSignature, type Signature } from './signature.js';
import { TestFormProblem, testOfJson } from './testForms.js';

const text = z.string().refine((value) => value.trim() !== '', 'must not be empty');

/** A problem as files hold it. Other fields are ignored. */
const recordSchema = z.object({
  id: z.union([text, z.int().transform(String)]),
  title: z.string().optional(),
  description: text,
  function_signature: text,
  baseline_tests: z.array(z.unknown()),
  hidden_tests: z.array(z.unknown()).default([]),
  reference_solution: text,
  difficulty: z.string().optional(),
  tags: z.array(z.string()).optional(),
  source: z.string().optional(),
  comparison: z.enum(['lenient', 'strict']).optional(),
});

interface Located {
  place: string; // 'line 3', or 'problem 3' of a JSON list
  json: unknown;
}

const refuse = (file: string, message: string): GauntletError =>
  new GauntletError('BAD_INPUT', `${basename(file)}: ${message}`);

function tryJson(content: string): { json: unknown } | { error: string } {
  try {
    return { json: JSON.parse(content) };
  } catch (error) {
    return { error: (error as Error).message.replace(/\s+/g, ' ') };
  }
}

/** A JSON list, an object with `problems`, one problem, or one problem a line. */
function locate(file: string, content: string): Located[] {
  if (content.trim() === '') throw refuse(file, 'is empty');
  const whole = tryJson(content);
  if ('json' in whole) {
    const inner = (whole.json as { problems?: unknown } | null)?.problems ?? whole.json;
    const list = Array.isArray(inner) ? inner : [inner];
    return list.map((json, index) => ({ place: `problem ${index + 1}`, json }));
  }
  if (content.trimStart().startsWith('[')) throw refuse(file, `is not JSON: ${whole.error}`);
  return content.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const parsed = tryJson(line);
    if ('error' in parsed) throw refuse(file, `line ${index + 1} is not JSON: ${parsed.error}`);
    return [{ place: `line ${index + 1}`, json: parsed.json }];
  });
}

/** Tests of one field, each in whichever form it has. An assert string may hold several assertions. */
function readTests(
  entries: unknown[],
  field: string,
  signature: Signature,
  fail: (message: string) => Error,
): Problem['baselineTests'] {
  return entries.flatMap((entry, index) => {
    try {
      return typeof entry === 'string' ? readAssertions(entry, signature) : [testOfJson(entry, signature)];
    } catch (error) {
      if (error instanceof TestFormProblem) throw fail(`${field}[${index}] ${error.message}`);
      throw error;
    }
  });
}

function toProblem(file: string, { place, json }: Located): Problem {
  const parsed = recordSchema.safeParse(json);
  const name = typeof (json as { id?: unknown } | null)?.id === 'string' ? ` (${(json as { id: string }).id})` : '';
  const fail = (message: string): GauntletError => refuse(file, `${place}${name}: ${message}`);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const field = issue.path.join('.');
    if (field === '') throw fail('is not a problem: an object is expected');
    const missing = !Object.hasOwn(json as object, field);
    throw fail(missing ? `missing field \`${field}\`` : `field \`${field}\`: ${issue.message}`);
  }
  const record = parsed.data;
  const signature = parseSignature(record.function_signature);
  if (!signature) throw fail('field `function_signature`: no `def name(arguments):` in it');
  const problem = {
    id: record.id,
    title: record.title,
    description: record.description,
    functionSignature: record.function_signature.trim(),
    entry: signature.entry,
    baselineTests: readTests(record.baseline_tests, 'baseline_tests', signature, fail),
    hiddenTests: readTests(record.hidden_tests, 'hidden_tests', signature, fail),
    referenceSolution: record.reference_solution,
    difficulty: record.difficulty,
    tags: record.tags,
    source: record.source ?? basename(file),
    comparison: record.comparison,
  };
  // an absent field is absent, not undefined: problems are stored as JSON
  return problemSchema.parse(Object.fromEntries(Object.entries(problem).filter(([, value]) => value !== undefined)));
}

/** Every problem of a file, in its order. @throws GauntletError BAD_INPUT */
export async function readProblemFile(file: string): Promise<Problem[]> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const reason = code === 'ENOENT' ? 'no such file' : code === 'EISDIR' ? 'it is a folder' : (error as Error).message;
    throw new GauntletError('BAD_INPUT', `cannot read problems from ${file}: ${reason}`);
  }
  const places = new Map<string, string>();
  return locate(file, content.replace(/^\uFEFF/, '')).map((located) => {
    const problem = toProblem(file, located);
    const before = places.get(problem.id);
    if (before !== undefined) throw refuse(file, `${located.place}: id \`${problem.id}\` is taken by ${before}`);
    places.set(problem.id, located.place);
    return problem;
  });
}
