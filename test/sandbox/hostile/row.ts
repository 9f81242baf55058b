// A hostile program of this project, in the format of the catalogue, with a check of what it left.
import type { ProgramRow } from '../../../sandbox/programRows.js';

export interface HostileRow extends ProgramRow {
  expect: string; // outcomes, separated by |
  why: string;
  /** The outcomes in WebAssembly and the reason, if they differ. */
  wasm?: [outcome: string, why: string];
  /** The outcomes in strict isolation, where pid 1 has the program's uid, and the reason, if they differ. */
  strict?: [outcome: string, why: string];
  /** A program that runs next and looks for what this one left. It must return True. */
  after?: string;
}

/** Tests of a function f with 1, 2 and 3. */
export const three = (a: unknown, b: unknown, c: unknown): ProgramRow['tests'] =>
  [a, b, c].map((expected, i) => [[i + 1], expected]) as ProgramRow['tests'];
/** The right answers of x + 1. */
export const increments = three(2, 3, 4);
export const OWN_SERVER: [string, string] = [
  'pass|fail|error', // error: pid 1 runs under limits that the program set before its answer arrives
  'pid 1 serves this program alone, under its uid: it harms itself',
];
export const NO_SYSCALLS: [string, string] = ['error|fail', 'the interpreter has no system calls of Linux'];
