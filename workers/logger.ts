// Structured logs on standard error or in a file. GAUNTLET_LOG sets the level.
import pino, { type Logger } from 'pino';
import { GauntletError } from '../core/base/errors.js';
import { visibleJson } from '../core/base/visible.js';

export type { Logger };

const LEVELS = [...Object.keys(pino.levels.values), 'silent'];

/** @param file default: standard error. @throws GauntletError BAD_CONFIG */
export function createLogger(level: string = process.env.GAUNTLET_LOG ?? 'warn', file?: string): Logger {
  if (!LEVELS.includes(level))
    throw new GauntletError('BAD_CONFIG', `GAUNTLET_LOG=${level}: expected one of ${LEVELS.join(', ')}`);
  // On a full disk, up to `maxLength` bytes wait for space, and more lines are dropped.
  const destination = pino.destination({ dest: file ?? 2, mkdir: file !== undefined, sync: true, maxLength: 2 ** 24 });
  destination.on('error', () => {}); // without a listener, the caller's log method would throw
  return pino(
    // The SDK logs errors under this key. Without the serializer, message and cause would be missing.
    { name: 'gauntlet', level, serializers: { error: pino.stdSerializers.err }, hooks: { streamWrite: visibleJson } },
    destination,
  );
}
