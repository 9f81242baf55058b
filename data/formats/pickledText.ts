// Reads a pickle that holds one string. Unpickling would run whatever the pickle says. So this code reads only the few opcodes
// that pickle writes for one str, and refuses all others. Nothing is executed.
import { inflateSync } from 'node:zlib';
import { UnusableRecord } from './format.js';

const STOP = 0x2e;
/** Opcodes without effect on the string → the number of bytes that follow them. */
const SKIPPED: ReadonlyMap<number, number> = new Map([
  [0x80, 1], // PROTO
  [0x95, 8], // FRAME
  [0x94, 0], // MEMOIZE
  [0x71, 1], // BINPUT
  [0x72, 4], // LONG_BINPUT
]);
/** Opcodes of a string → the number of bytes of its length. */
const STRINGS: ReadonlyMap<number, number> = new Map([
  [0x8c, 1], // SHORT_BINUNICODE
  [0x58, 4], // BINUNICODE
  [0x8d, 8], // BINUNICODE8
]);
const MAX_INFLATED = 256 << 20; // bytes

/** Unpacks a str that was pickled, compressed with zlib, and encoded as base64. @throws UnusableRecord */
export function unpackText(packed: string): string {
  let inflated: Buffer;
  try {
    inflated = inflateSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_INFLATED });
  } catch (error) {
    throw new UnusableRecord(`tests cannot be unpacked (${(error as NodeJS.ErrnoException).code ?? 'not zlib'})`);
  }
  return readPickledText(inflated);
}

/** @throws UnusableRecord if the pickle is anything but one str */
export function readPickledText(pickle: Buffer): string {
  let found: string | undefined;
  let at = 0;
  const take = (size: number): Buffer => {
    if (at + size > pickle.length) throw new UnusableRecord('a pickle that ends too early');
    at += size;
    return pickle.subarray(at - size, at);
  };
  for (;;) {
    const opcode = take(1)[0]!;
    const skipped = SKIPPED.get(opcode);
    const lengthBytes = STRINGS.get(opcode);
    if (skipped !== undefined) take(skipped);
    else if (lengthBytes !== undefined) {
      if (found !== undefined) throw new UnusableRecord('a pickle of more than one string');
      found = decodeText(take(Number(littleEndian(take(lengthBytes)))));
    } else if (opcode === STOP) break;
    else {
      const hex = opcode.toString(16).padStart(2, '0');
      throw new UnusableRecord(`a pickle of more than text (opcode 0x${hex}): it is not unpickled`);
    }
  }
  if (found === undefined) throw new UnusableRecord('a pickle without a string');
  if (at !== pickle.length) throw new UnusableRecord('a pickle with bytes after its end');
  return found;
}

const littleEndian = (bytes: Buffer): bigint => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

function decodeText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UnusableRecord('a pickled string that is not UTF-8');
  }
}
