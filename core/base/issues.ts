// Says what is wrong with a value that does not fit its schema.
import { z } from 'zod';
import { type ErrorCode, GauntletError } from './errors.js';

/** @throws GauntletError one line with at most three issues, each with the path of its field, e.g. advantages[5] */
export function parseAs<T>(schema: z.ZodType<T>, value: unknown, code: ErrorCode, prefix = ''): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { issues } = parsed.error;
  const more = issues.length > 3 ? ` (and ${issues.length - 3} more)` : '';
  const lines = issues.slice(0, 3).map((issue) => describe(schema, issue));
  throw new GauntletError(code, prefix + lines.join('; ') + more);
}

function describe(schema: z.ZodType, issue: z.core.$ZodIssue): string {
  const path = pathOf(issue.path);
  const inner = innerOf(issue);
  if (inner) return describe(schema, inner);
  if (issue.code === 'unrecognized_keys') {
    const known = knownFields(schema, issue.path);
    const names = issue.keys.map((key) => `${path ? `${path}.` : ''}${key}`).join(', ');
    return `${names}: no such field${known.length > 0 ? `; known: ${known.join(', ')}` : ''}`;
  }
  return `${path ? `${path}: ` : ''}${messageOf(issue)}`;
}

/** If an object may have one of several forms: the issue within the first form that has the object's fields. */
function innerOf(issue: z.core.$ZodIssue): z.core.$ZodIssue | undefined {
  if (issue.code !== 'invalid_union') return undefined;
  const form = issue.errors.find((own) => own.every(({ code }) => code !== 'unrecognized_keys'));
  const [first] = form ?? [];
  return first && first.path.length > 0 ? { ...first, path: [...issue.path, ...first.path] } : undefined;
}

const pathOf = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '');

function messageOf(issue: z.core.$ZodIssue): string {
  const options =
    issue.code === 'invalid_union'
      ? issue.errors.flat().flatMap((e) => (e.code === 'invalid_value' ? e.values : []))
      : [];
  if (issue.code === 'invalid_key') return `the name ${issue.issues[0]!.message}`;
  const text = options.length > 0 ? `must be one of ${options.join(', ')}` : issue.message;
  return text.replace(/\s+/g, ' ');
}

/** The fields that the schema has at `path`. */
function knownFields(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  type Node = { properties?: Record<string, Node> } | undefined;
  let node = z.toJSONSchema(schema, { io: 'input' }) as Node;
  for (const part of path) node = node?.properties?.[String(part)];
  return Object.keys(node?.properties ?? {});
}
