// The wire format: 8 magic bytes once, then frames in both directions, each a u32 big-endian length and UTF-8 JSON.
import { z } from 'zod';
import type { Calling } from '../../core/schema/calling.js';
import type { CallResult, TestStyle } from '../../core/schema/execution.js';
import { isPlainValue } from './values.js';

export const MAGIC = 'GAUNTLT1';
export const MAX_FRAME = 64 << 20; // bytes, of interactive jobs and of all frames to a guest (MAX_JOB in value_jobs.py)
const MAX_ANSWER = (1 << 20) + 1024; // characters; the guest caps every answer at 1 MiB
const MAX_MESSAGE = 500; // characters

/** The longest frame in a job of values: one answer in JSON, or the same verdict for all remaining calls. */
export const longestFrame = (calls: number): number => (4 << 20) + 256 * calls;

export const readyFrameSchema = z.strictObject({
  ready: z.literal(true),
  cpu: z.number().nonnegative().optional(), // CPU seconds of the start, which no program is charged for
});

/** 'answer' and 'load' carry text that the program's own process wrote; the other kinds come from the guest. */
const guestCallSchema = z.tuple([z.enum(['answer', 'load', 'error', 'timeout', 'memory', 'output']), z.string()]);
export type GuestCall = z.infer<typeof guestCallSchema>;

/** A guest that may be killed during a job sends each call as it ends; the result then contains the rest. */
export const callFrameSchema = z.strictObject({
  id: z.int(),
  call: guestCallSchema,
  cpu: z.number().nonnegative().optional(), // the guest's CPU clock as the next call begins
});

/**
 * Such a guest also reports when the program is loaded and its next call begins. Then the limit of one call applies.
 */
export const loadedFrameSchema = z.strictObject({ id: z.int(), loaded: z.number().nonnegative() });

export const resultFrameSchema = z.strictObject({
  id: z.int(),
  calls: z.array(guestCallSchema),
  ms: z.number().nonnegative(), // wall clock
  cpu: z.number().nonnegative(), // CPU seconds that the guest has used since it started
  wall: z.boolean(), // the wall clock ended the program: counts only if it happens again alone
  retire: z.boolean(), // the guest must not be used again
});
/** Between jobs: the guest could not be cleaned, and ends. */
export const retireFrameSchema = z.strictObject({ retire: z.literal(true) });

/** Text from the child of an interactive job, and the end of that job. */
export const outFrameSchema = z.strictObject({ id: z.int(), out: z.string() });
export const endedFrameSchema = z.strictObject({
  id: z.int(),
  ended: z.tuple([z.enum(['end', 'error', 'timeout', 'memory', 'output']), z.string()]),
  ms: z.number().nonnegative(),
  used: z.number().nonnegative(), // CPU seconds that the child is charged for
  cpu: z.number().nonnegative(),
  wall: z.boolean(),
  retire: z.boolean(),
});

/** One child process that the host talks to. It holds a program or runs tests. */
export type SessionSpec =
  | { role: 'program'; code: string; entry: string | null; first: number } // numbers of its objects start at `first`
  | {
      role: 'tests';
      style: TestStyle;
      files: Record<string, string>;
      entry: string | null;
      skip: string[]; // names of tests that have ended
      only: readonly string[] | null; // names of the tests to run; null: all
      imports: string; // Python of the problem that binds names of the tests
    };

export interface JobFrame {
  id: number;
  code: string;
  entry: string;
  calling?: Calling | undefined;
  inputs: unknown[];
  truth?: number[] | undefined; // indices of calls
  cpu: number; // seconds, of the whole program
  case: number; // seconds of CPU, of one call
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

const RAW_HEAD = 5; // kind, u32 id of the job
const RAW_KINDS: Record<number, GuestCall[0]> = { 65: 'answer', 88: 'load' }; // 'A', 'X'

/** Reads JSON, or 'A' or 'X' with the job's id and the text of one call from the program's process. */
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

/** Validates what a program's process wrote: one of three shapes with plain data, or an error. */
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
