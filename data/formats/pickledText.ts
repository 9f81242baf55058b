// The one string that a pickle of a string holds. A pickle is a program of its own: unpickling runs whatever it says. So
// this reads the opcodes that pickle writes for one str and refuses every other; nothing is ever executed.
import { inflateSync } from 'node:zlib';
import { Unusable } from './format.js';

const PROTO = 0x80;
const FRAME = 0x95;
const SHORT_BINUNICODE = 0x8c;
const BINUNICODE = 0x58;
const BINUNICODE8 = 0x8d;
const MEMOIZE = 0x94;
const BINPUT = 0x71;
const LONG_BINPUT = 0x72;
const STOP = 0x2e;
const MAX_INFLATED = 256 << 20; // bytes

/** base64 of zlib of a pickled str → the str. @throws Unusable */
export function unpackText(packed: string): string {
  let inflated: Buffer;
  try {
    inflated = inflateSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_INFLATED });
  } catch (error) {
    throw new Unusable(`tests cannot be unpacked (${(error as NodeJS.ErrnoException).code ?? 'not zlib'})`);
  }
  return readPickledText(inflated);
}

/** @throws Unusable where the pickle is anything but one str */
export function readPickledText(pickle: Buffer): string {
  let found: string | undefined;
  let at = 0;
  const take = (size: number): number => {
    if (size < 0 || at + size > pickle.length) throw new Unusable('a pickle that ends too early');
    at += size;
    return at - size;
  };
  const string = (size: number): void => {
    if (found !== undefined) throw new Unusable('a pickle of more than one string');
    const start = take(size);
    try {
      found = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(pickle.subarray(start, at));
    } catch {
      throw new Unusable('a pickled string that is not UTF-8');
    }
  };
  for (;;) {
    const opcode = pickle[take(1)]!;
    switch (opcode) {
      case PROTO:
        take(1);
        break;
      case FRAME:
        take(8);
        break;
      case SHORT_BINUNICODE:
        string(pickle.readUInt8(take(1)));
        break;
      case BINUNICODE:
        string(pickle.readUInt32LE(take(4)));
        break;
      case BINUNICODE8:
        string(Number(pickle.readBigUInt64LE(take(8))));
        break;
      case MEMOIZE:
        break;
      case BINPUT:
        take(1);
        break;
      case LONG_BINPUT:
        take(4);
        break;
      case STOP:
        if (found === undefined) throw new Unusable('a pickle without a string');
        if (at !== pickle.length) throw new Unusable('a pickle with something behind its end');
        return found;
      default:
        throw new Unusable(
          `a pickle of more than text (opcode 0x${opcode.toString(16).padStart(2, '0')}): never unpickled`,
        );
    }
  }
}
