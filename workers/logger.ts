// Structured logs: on standard error, or in a file beside what they are about. GAUNTLET_LOG sets the level.
import pino, { type Logger } from 'pino';

export type { Logger };

/** @param file default: standard error */
export function createLogger(level: string = process.env.GAUNTLET_LOG ?? 'warn', file?: string): Logger {
  return pino(
    { name: 'gauntlet', level },
    pino.destination({ dest: file ?? 2, mkdir: file !== undefined, sync: true }),
  );
}
