// Python values as JSON, for sandbox, tests and datasets. Ints in the safe range, strings, booleans, None and lists are
// plain JSON. All other values have a one-letter tag.
import { z } from 'zod';

export type Value =
  | null
  | boolean
  | number // a Python int with |n| < 2^53
  | string
  | Value[] // list
  | { i: string } // big int, "0x…" or "-0x…"
  | { f: string } // float: repr, "nan", "inf", "-inf"
  | { t: Value[] } // tuple
  | { s: Value[] } // set or frozenset
  | { d: [Value, Value][] } // dict, in insertion order
  | { b: string } // bytes, base64
  | { c: [string, string] }; // complex

export const valueSchema: z.ZodType<Value> = z.lazy(() =>
  z.union([
    z.null(),
    z.boolean(),
    z.int(),
    z.string(),
    z.array(valueSchema),
    z.strictObject({ i: z.string().regex(/^-?0x[0-9a-f]+$/i) }),
    z.strictObject({ f: z.string() }),
    z.strictObject({ t: z.array(valueSchema) }),
    z.strictObject({ s: z.array(valueSchema) }),
    z.strictObject({ d: z.array(z.tuple([valueSchema, valueSchema])) }),
    z.strictObject({ b: z.string() }),
    z.strictObject({ c: z.tuple([z.string(), z.string()]) }),
  ]),
);
