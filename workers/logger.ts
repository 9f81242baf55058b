// Structured logs: on standard error, or in a file beside what they are about. GAUNTLET_LOG sets the level.
import pino, { type Logger } from 'pino';
import { GauntletError } from '../core/errors.js';

export type { Logger };

const LEVELS = [...Object.keys(pino.levels.values), 'silent'];

/** @param file default: standard error. @throws GauntletError BAD_CONFIG */
export function createLogger(level: string = process.env.GAUNTLET_LOG ?? 'warn', file?: string): Logger {
  if (!LEVELS.includes(level))
    throw new GauntletError('BAD_CONFIG', `GAUNTLET_LOG=${level}: one of ${LEVELS.join(', ')}`);
  return pino(
    // the SDK's key for what went wrong; as any object an error has neither its message nor its cause
    { name: 'gauntlet', level, serializers: { error: pino.stdSerializers.err } },
    pino.destination({ dest: file ?? 2, mkdir: file !== undefined, sync: true }),
  );
}
