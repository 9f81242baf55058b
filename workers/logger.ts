// Structured logs on standard error; GAUNTLET_LOG sets the level.
import pino, { type Logger } from 'pino';

export type { Logger };

export function createLogger(level: string = process.env.GAUNTLET_LOG ?? 'warn'): Logger {
  return pino({ name: 'gauntlet', level }, pino.destination({ dest: 2, sync: true }));
}
