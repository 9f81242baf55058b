// The shipped data: base models and problem sets.
import { join } from 'node:path';
import { ROOT } from '../infra/root.mjs';

/** Whether there is a shipped base model of this name, for the problem set of the same name. */
export const isFamily = (name: string): boolean => name === 'tiny' || name === 'nested';

/** The shipped base model of a family, in Hugging Face layout. */
export const shippedModelPath = (family: string): string => join(ROOT, 'data', `${family}-model`);

/** A shipped problem set ('tiny', 'nested', 'steps'): records of the format `gauntlet`, each with its split. */
export const shippedProblemsPath = (name: string): string => join(ROOT, 'data', `${name}-problems.jsonl.gz`);
