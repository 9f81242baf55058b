// Paths of shipped data.
import { join } from 'node:path';
import { ROOT } from '../infra/root.mjs';

/** The shipped base model of a family ('tiny', 'nested'), in Hugging Face layout. */
export const shippedModelPath = (family: string): string => join(ROOT, 'data', `${family}-model`);
