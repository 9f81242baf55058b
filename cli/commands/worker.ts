// `gauntlet worker`: workers of some roles for a server that runs elsewhere.
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { WORKER_ROLES, type WorkerRole } from '../../core/queues.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, onInterrupt, openSession, withConnection } from '../session.js';

export function parseRoles(text: string): WorkerRole[] {
  const roles = text.split(',').map((part) => part.trim());
  if (roles.includes('all')) return [...WORKER_ROLES];
  for (const role of roles) {
    if (!(WORKER_ROLES as readonly string[]).includes(role)) {
      throw new GauntletError('BAD_INPUT', `--role ${role}: unknown; known: ${WORKER_ROLES.join(', ')}, all`);
    }
  }
  return roles as WorkerRole[];
}

export function addWorker(program: Command): void {
  const command = program
    .command('worker')
    .description('serve task queues by role')
    .option('--role <roles>', `comma-separated: ${WORKER_ROLES.join(', ')}, or all`, 'all')
    .option('--sandbox <kind>', 'auto, docker or wasm')
    .option('--json', 'print one line of JSON when ready');
  withConnection(command).action(async (flags: ConnectionOptions & { role: string; json?: boolean }) => {
    const output = createOutput(flags.json === true);
    const roles = parseRoles(flags.role);
    const session = await openSession(flags, output, 'here', roles);
    let release = (): void => undefined;
    const stopped = new Promise<void>((resolve) => {
      release = onInterrupt(resolve);
    });
    try {
      output.result(
        { roles, address: session.server.address },
        () => `serving ${roles.join(', ')} at ${session.server.address}`,
      );
      await Promise.race([stopped, session.workers!.run]);
    } finally {
      release();
      await session.close();
    }
  });
}
