// A hostile program of this project, in the format of the catalogue, with outcomes for other backends and a check for traces.
import type { ProgramRow } from '../../../sandbox/programRows.js';

export interface HostileRow extends ProgramRow {
  expect: string; // the allowed outcomes, separated by |
  why: string;
  /** The outcomes in WebAssembly and the reason, if they differ. */
  wasm?: [outcome: string, why: string];
  /** The outcomes in strict isolation, where pid 1 has the program's uid, and the reason, if they differ. */
  strict?: [outcome: string, why: string];
  /** A program that runs next and looks for what this one left. It must return True. */
  after?: string;
}
