// Checks every message between the process of the tests and the process of the program. A message that does not fit these
// schemas is not passed on. The program's side can only answer. sandbox/testSource/exchange.py explains the tags.
import { z } from 'zod';
import { isPlainValue, type MoreTags } from '../guest/values.js';

const NAME = /^[\p{L}_][\p{L}\p{N}_]{0,199}$/u;
const isName = (x: unknown): x is string => typeof x === 'string' && NAME.test(x);
const isCount = (x: unknown): boolean => typeof x === 'number' && Number.isSafeInteger(x) && x >= 0;
const isHandle = (x: unknown): boolean =>
  Array.isArray(x) && x.length === 2 && isCount(x[0]) && typeof x[1] === 'string' && x[1].length <= 100;

const both: MoreTags = {
  r: isCount,
  z: (x, each) => Array.isArray(x) && x.every(each),
  q: (x, each) => Array.isArray(x) && x.length === 3 && x.every(each),
  l: (x, each) => Array.isArray(x) && x.length === 3 && x.every(each),
  a: (x) => isPlainValue({ b: x }),
  k: (x, each) => Array.isArray(x) && x.length === 3 && isName(x[0]) && each(x[1]) && each(x[2]),
  g: isName,
  h: isHandle,
};
const given: MoreTags = {
  ...both,
  u: isName,
  y: (x) => Array.isArray(x) && x.length === 2 && isName(x[0]) && typeof x[1] === 'string',
};

const MAX_PRINTED = 2_000_000; // UTF-16 units; the guest keeps half as many characters
const MAX_NODES = 4_000_000; // the most parts of one message; the guests stop at half of it
const isAnswered = (x: unknown): boolean => isPlainValue(x, both, MAX_NODES);
const isGiven = (x: unknown): boolean => isPlainValue(x, given, MAX_NODES);

/** Whether a value is a list or has one of the other tags for containers. */
const isContainer = (x: unknown): boolean =>
  isAnswered(x) && (Array.isArray(x) || 'dsak'.includes(Object.keys(Object(x))[0] ?? '-'));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const textSchema = z.string().max(2000);
const numberSchema = z.int().nonnegative();
const numbersSchema = z.array(numberSchema).max(MAX_NODES);
const exceptionSchema = z.tuple([
  z.string().regex(NAME),
  textSchema,
  z.string().regex(NAME).nullable(),
  z.custom<unknown>((x) => x === null || isPlainValue(x)),
  z.custom<unknown>((x) => x === null || isAnswered(x)),
]);
const answerSchema = z
  .strictObject({
    v: z.custom<unknown>(isAnswered).optional(),
    x: exceptionSchema.optional(),
    m: textSchema.optional(),
    w: z.array(z.tuple([numberSchema, z.custom<unknown>(isContainer)])).optional(),
    k: numbersSchema.optional(), // the numbers of the containers that the program still uses
    o: z.string().max(MAX_PRINTED).optional(), // the text that the call printed
  })
  .refine((answer) => ['v', 'x', 'm'].filter((key) => Object.hasOwn(answer, key)).length === 1);

/** Returns what a message from the program's process says: an answer or 'memory' (it ran out). Undefined if it is invalid. */
export function checkAnswer(text: string): 'answer' | 'memory' | undefined {
  const parsed = answerSchema.safeParse(parse(text));
  if (!parsed.success) return undefined;
  return parsed.data.m === undefined ? 'answer' : 'memory';
}

const nameSchema = z.string().regex(NAME);
const entrySchema = z.union([
  z.tuple([nameSchema, z.enum(['f', 'o']), z.null()]),
  z.tuple([nameSchema, z.literal('v'), z.custom<unknown>((x) => x === null || isPlainValue(x, both))]),
  z.tuple([nameSchema, z.enum(['m', 'i']), z.string().max(200)]),
  z.tuple([nameSchema, z.literal('x'), z.array(nameSchema).max(100)]),
  z.tuple([
    nameSchema,
    z.literal('c'),
    z.tuple([z.array(z.string().max(200)).max(5000), z.array(nameSchema).max(100)]),
  ]),
]);
const namesSchema = z.union([
  z.strictObject({ names: z.array(entrySchema).max(5000) }),
  z.strictObject({ e: z.string() }),
  z.strictObject({ m: z.string() }),
]);

type Loaded = { kind: 'names' } | { kind: 'error' | 'memory'; message: string };

/** Reads the first message of the program's process: the program's names, or why it did not load. */
export function checkNames(text: string): Loaded {
  const parsed = namesSchema.safeParse(parse(text));
  if (!parsed.success) return { kind: 'error', message: 'the program wrote into the answer channel' };
  if ('names' in parsed.data) return { kind: 'names' };
  const [[key, message]] = Object.entries(parsed.data) as [['e' | 'm', string]];
  return { kind: key === 'm' ? 'memory' : 'error', message: message.slice(0, 500) };
}

const subjectSchema = z.union([z.strictObject({ g: nameSchema }), z.strictObject({ h: z.custom<unknown>(isHandle) })]);
const attributeSchema = nameSchema.refine((name) => !name.startsWith('__'));
const givenSchema = z.custom<unknown>(isGiven);
const rest = [
  z.array(givenSchema).max(1000), // the arguments
  z.record(nameSchema, givenSchema),
  // the number of the next shared container, the numbers of those that the tests use, and the changed ones
  z.tuple([numberSchema, numbersSchema, z.array(z.tuple([numberSchema, givenSchema]))]),
] as const;
const requestSchema = z.union([
  z.tuple([z.literal('op'), z.null(), z.string().regex(/^[a-z_]{1,20}$/), ...rest]),
  z.tuple([z.enum(['call', 'new', 'value']), subjectSchema, z.null(), ...rest]),
  z.tuple([z.enum(['get', 'set', 'invoke']), subjectSchema, attributeSchema, ...rest]),
]);

const testName = z.string().max(1000);
const testerSchema = z.union([
  z.strictObject({ q: requestSchema }),
  z.strictObject({ tests: z.array(testName).max(10_000) }),
  z.strictObject({ begin: testName }),
  z.strictObject({ end: z.tuple([testName, z.enum(['pass', 'fail', 'error']).nullable(), z.string().nullable()]) }),
  z.strictObject({ done: z.literal(true) }),
]);
type TesterMessage = z.infer<typeof testerSchema>;

/** Reads a message from the tests' process. Undefined if it is invalid. */
export function checkTester(text: string): TesterMessage | undefined {
  const parsed = testerSchema.safeParse(parse(text));
  return parsed.success ? parsed.data : undefined;
}
