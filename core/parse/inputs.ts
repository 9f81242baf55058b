// Reads the inputs in a discriminator's answer: calls of the function under test with literal arguments. Nothing runs.
import type { Value } from '../schema/value.js';
import { attempt, calledWith, nameOf, noBindings } from './asserts.js';
import type { RejectedTest, RejectionReason, SalvageOptions } from './salvage.js';
import { takePiece } from './scan.js';
import { parsePython, singleExpression } from './tree.js';

export interface SalvagedInputs {
  inputs: Value[][]; // the arguments of each call, in the order of the text
  rejected: Pick<RejectedTest, 'reason'>[]; // calls at the start of a line that cannot be read; others are prose or programs
}

const MAX_TEXT = 100_000;
const MAX_UNREAD = 64; // reading stops after this many calls that cannot be read
const MAX_LINE_START = 64; // the most characters before a call at the start of a line
const LINE_START = /^[\s`*>•-]*(?:(?:[A-Z]\w* )?\d+[.):])?[\s`*]*(?:print\(|assert\s+)?$/;

/** Reads `f(1, [2])` anywhere outside definitions; what surrounds a call is ignored. Never throws. */
export function salvageInputs(answer: string, options: SalvageOptions): SalvagedInputs {
  const text = answer.slice(0, MAX_TEXT).replace(/\r\n?/g, '\n');
  const calls = new RegExp(`(?<!\\w|def |class )${nameOf(options.entry)}(?=\\()`, 'g');
  const found: SalvagedInputs = { inputs: [], rejected: [] };
  let unread = 0;
  for (let call = calls.exec(text); call !== null; call = calls.exec(text)) {
    if (found.inputs.length === options.limit || unread === MAX_UNREAD) break;
    const { end, closed, cut } = takePiece(text, call.index, false);
    let reason: RejectionReason = cut ? 'truncated' : 'syntax';
    const refused = (why: RejectionReason): void => {
      reason = why;
    };
    const args = closed ? argumentsIn(text.slice(call.index, end), options, refused) : undefined;
    if (args !== undefined) found.inputs.push(args);
    else {
      unread++;
      const line = text.slice(text.lastIndexOf('\n', call.index) + 1, call.index);
      if (line.length < MAX_LINE_START && LINE_START.test(line)) found.rejected.push({ reason });
    }
    if (closed) calls.lastIndex = end;
  }
  return found;
}

/** The arguments of a call; undefined if one of them is not a literal, or if their number is wrong. */
function argumentsIn(
  call: string,
  options: SalvageOptions,
  refused: (reason: RejectionReason) => void,
): Value[] | undefined {
  return attempt(() => {
    const parsed = parsePython(call);
    return calledWith(singleExpression(parsed), parsed.text, options, noBindings());
  }, refused);
}
