// Numbers in the environment of a worker.
import { GauntletError } from '../core/errors.js';

/** @throws GauntletError BAD_CONFIG */
export function secondsOf(variable: string, env: NodeJS.ProcessEnv, otherwise: number): number {
  const text = env[variable]?.trim();
  if (!text) return otherwise;
  const seconds = Number(text);
  if (seconds >= 0 && Number.isFinite(seconds)) return seconds;
  throw new GauntletError('BAD_CONFIG', `${variable}=${text}: must be a number of seconds`);
}
