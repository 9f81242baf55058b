// Reads the flags of the laboratory's commands.
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** An error that ends the program with one line and this exit code. */
export class LabError extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
  }
}

export const FLAG = { type: 'boolean' } as const;
export const TEXT = { type: 'string' } as const;
export const LIST = { type: 'string', multiple: true } as const;

/** @throws {LabError} with one line that names the unknown or incomplete flag */
export function readFlags<const T extends NonNullable<ParseArgsConfig['options']>>(args: string[], options: T) {
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new LabError((error as Error).message.split('. ')[0]!, 2);
  }
}

/** @throws {LabError} naming the flag */
export function positive(flag: string, text: string, { whole = true, max = Number.MAX_SAFE_INTEGER } = {}): number {
  const value = Number(text);
  if (value > 0 && value <= max && (!whole || Number.isSafeInteger(value))) return value;
  const limit = max === Number.MAX_SAFE_INTEGER ? '' : ` of at most ${max}`;
  throw new LabError(`--${flag} must be a positive ${whole ? 'integer' : 'number'}${limit}, is ${text}`, 2);
}
