// A hostile program of the project's own, in the form of the catalogue, and what is looked at after it.
import type { ProgramRow } from '../../../sandbox/programRows.js';

export interface HostileRow extends ProgramRow {
  expect: string; // outcomes, separated by |
  why: string;
  /** Where WebAssembly ends otherwise: its outcomes, and the reason. */
  wasm?: [outcome: string, why: string];
  /** Where a container per program, with one uid for it and for pid 1, ends otherwise. */
  strict?: [outcome: string, why: string];
  /** A program run next on the same sandbox that looks for what this one left; it must answer true. */
  after?: string;
}

/** For a program whose function f is called with 1, 2 and 3. */
export const three = (a: unknown, b: unknown, c: unknown): ProgramRow['tests'] =>
  [a, b, c].map((expected, i) => [[i + 1], expected]) as ProgramRow['tests'];
/** The right answers of x + 1: a program that answers otherwise must not pass. */
export const increments = three(2, 3, 4);
export const OWN_SERVER: [string, string] = [
  'pass|fail|error', // error: pid 1 waits again before the answer is there, under the limits that the program gave it
  'pid 1 serves this program alone, under its uid: it harms itself',
];
export const NO_SYSCALLS: [string, string] = ['error|fail', 'the interpreter has no system calls of Linux'];
