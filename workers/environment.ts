// Reads numbers from the environment variables of a worker.
import { GauntletError } from '../core/base/errors.js';

/** @throws GauntletError BAD_CONFIG */
export function secondsOf(variable: string, env: NodeJS.ProcessEnv, otherwise: number): number {
  const text = env[variable]?.trim();
  if (!text) return otherwise;
  const seconds = Number(text);
  if (seconds >= 0 && Number.isFinite(seconds)) return seconds;
  throw new GauntletError('BAD_CONFIG', `${variable}=${text}: must be a number of seconds`);
}

const HANG_SECONDS = 120;

/** How long an activity may make no progress, in ms. @throws GauntletError BAD_CONFIG */
export const hangBound = (env = process.env): number =>
  1000 * secondsOf('GAUNTLET_HANG_SECONDS', env, HANG_SECONDS) || Number.POSITIVE_INFINITY;
