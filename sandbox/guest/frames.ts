// The wire format between host and guest. The guest first sends 8 magic bytes. Then both sides send frames: a length (u32,
// big-endian) and JSON in UTF-8.
import { z } from 'zod';
import type { Calling } from '../../core/schema/calling.js';
import type { CallResult, TestStyle } from '../../core/schema/execution.js';
import { isPlainValue } from './values.js';

export const MAGIC = 'GAUNTLT1';
/** The most bytes of a frame to a guest, and of a frame in an interactive job. value_jobs.py has the same MAX_JOB. */
export const MAX_FRAME = 64 << 20;
const MAX_ANSWER = (1 << 20) + 1024; // characters; the guest refuses an answer of more than 1 MiB
const MAX_MESSAGE = 500; // characters

/** The most bytes of a frame in a job of values. It holds one answer, or one verdict for each remaining call. */
export const longestFrame = (calls: number): number => (4 << 20) + 256 * calls;

export const readyFrameSchema = z.strictObject({
  ready: z.literal(true),
  cpu: z.number().nonnegative().optional(), // the CPU seconds of the start; they count against no program
});

/** 'answer' and 'load' have text from the program's own process, which is not trusted. The guest wrote all other kinds. */
const guestCallSchema = z.tuple([z.enum(['answer', 'load', 'error', 'timeout', 'memory', 'output']), z.string()]);
export type GuestCall = z.infer<typeof guestCallSchema>;

/** A guest that may be killed during a job sends the outcome of each call at once; the result has the other calls. */
export const callFrameSchema = z.strictObject({
  id: z.int(),
  call: guestCallSchema,
  cpu: z.number().nonnegative().optional(), // the guest's CPU clock when the next call begins
});

/** The guest's CPU clock when the program is loaded and a call begins. From then on the limit for one call applies. */
export const loadedFrameSchema = z.strictObject({ id: z.int(), loaded: z.number().nonnegative() });

export const resultFrameSchema = z.strictObject({
  id: z.int(),
  calls: z.array(guestCallSchema),
  ms: z.number().nonnegative(), // wall time
  cpu: z.number().nonnegative(), // the CPU seconds that the guest has used since it started
  wall: z.boolean(), // the limit of wall time ended the program
  retire: z.boolean(), // the guest must not be used again
});
/** The guest sends this between two jobs if it could not be cleaned. Then it ends. */
export const retireFrameSchema = z.strictObject({ retire: z.literal(true) });

/** Text from the child of an interactive job, and the end of that job. */
export const outFrameSchema = z.strictObject({ id: z.int(), out: z.string() });
export const endedFrameSchema = z.strictObject({
  id: z.int(),
  ended: z.tuple([z.enum(['end', 'error', 'timeout', 'memory', 'output']), z.string()]),
  ms: z.number().nonnegative(),
  used: z.number().nonnegative(), // the CPU seconds that count against the child
  cpu: z.number().nonnegative(),
  wall: z.boolean(),
  retire: z.boolean(),
});

/** One child process that the host talks to. It holds a program or runs tests. */
export type SessionSpec =
  | { role: 'program'; code: string; entry: string | null; first: number } // `first`: the number of its first object
  | {
      role: 'tests';
      style: TestStyle;
      files: Record<string, string>;
      entry: string | null;
      skip: string[]; // names of tests that have ended
      only: readonly string[] | null; // names of the tests to run; null runs all
      imports: string; // Python code that binds names for the tests
    };

export interface JobFrame {
  id: number;
  code: string;
  entry: string;
  calling?: Calling | undefined;
  inputs: unknown[];
  truth?: number[] | undefined; // the calls of which only the truth value of the answer is wanted, by index
  cpu: number; // CPU seconds for the whole program
  case: number; // CPU seconds for one call
  wall: number; // seconds
  memory: number; // bytes
  output: number; // bytes
}

export function encodeFrame(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

const RAW_HEAD = 5; // bytes: the kind, and the id of the job as u32
const RAW_KINDS: Record<number, GuestCall[0]> = { 65: 'answer', 88: 'load' }; // the bytes 'A' and 'X'

/** Reads JSON. A body that begins with 'A' or 'X' has the job's id and the text of one call instead. */
function decodeBody(body: Buffer): unknown {
  const kind = body.length >= RAW_HEAD ? RAW_KINDS[body[0]!] : undefined;
  if (kind === undefined) return JSON.parse(body.toString('utf8'));
  return { id: body.readUInt32BE(1), call: [kind, body.toString('utf8', RAW_HEAD)] };
}

/** Splits a byte stream into messages. Throws on a wrong greeting, an oversized frame and invalid JSON. */
export class FrameReader {
  constructor(readonly maxFrame: () => number = () => MAX_FRAME) {}

  #chunks: Buffer[] = [];
  #size = 0;
  #greeted = false;

  *feed(chunk: Buffer): Generator<unknown> {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    for (;;) {
      const need = this.#greeted ? 4 : MAGIC.length;
      if (this.#size < need) return;
      const head = this.#peek(need);
      if (!this.#greeted) {
        if (head.toString('latin1') !== MAGIC)
          throw new Error(`the guest sent a wrong greeting: ${JSON.stringify(head.toString('latin1'))}`);
        this.#take(need);
        this.#greeted = true;
        continue;
      }
      const length = head.readUInt32BE(0);
      if (length > this.maxFrame()) throw new Error(`a frame of ${length} bytes is too large`);
      if (this.#size < 4 + length) return;
      yield decodeBody(this.#take(4 + length).subarray(4));
    }
  }

  #peek(size: number): Buffer {
    if ((this.#chunks[0]?.length ?? 0) < size) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!.subarray(0, size);
  }

  #take(size: number): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = all.length > size ? [all.subarray(size)] : [];
    this.#size -= size;
    return all.subarray(0, size);
  }
}

const UNREADABLE: CallResult = { kind: 'error', message: 'the answer is malformed' };

/** Checks what a program's process wrote. Text that has none of three shapes becomes an error. */
export function toCallResult([kind, text]: GuestCall): CallResult {
  if (kind !== 'answer' && kind !== 'load') return { kind, message: text.slice(0, MAX_MESSAGE) };
  if (text.length > MAX_ANSWER) return { kind: 'error', message: 'the answer is too large' };
  let claim: unknown;
  try {
    claim = JSON.parse(text);
  } catch {
    return UNREADABLE;
  }
  if (typeof claim !== 'object' || claim === null || Array.isArray(claim)) return UNREADABLE;
  const entries = Object.entries(claim);
  const [key, value] = entries[0] ?? [];
  if (entries.length !== 1) return UNREADABLE;
  if (key === 'v' && kind === 'answer' && isPlainValue(value)) return { kind: 'value', value };
  if (key === 'e' && typeof value === 'string') return { kind: 'error', message: value.slice(0, MAX_MESSAGE) };
  if (key === 'm' && typeof value === 'string') return { kind: 'memory', message: value.slice(0, MAX_MESSAGE) };
  return UNREADABLE;
}
