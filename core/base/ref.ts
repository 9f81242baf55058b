// References to artifacts of the store.
import { z } from 'zod';

/** The digest of an artifact: `sha256:` and 64 hex digits. */
export type Digest = string;

/** The digest of an artifact whose JSON is a `T`. The compiler keeps references to different types apart. */
export type Ref<T> = Digest & { readonly of?: T };

/** The schema of a reference in a record. */
export const refTo = <T>(digest: z.ZodType<Digest> = z.string()): z.ZodType<Ref<T>> => digest;
