// `gauntlet worker`: workers of some roles for a server that runs elsewhere.
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { WORKER_ROLES, type WorkerRole } from '../../core/queues.js';
import { deviceOption, sandboxOption } from '../config.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, serve, withStore } from '../session.js';

/** @throws GauntletError BAD_INPUT naming the role */
export function parseRoles(text: string): WorkerRole[] {
  const roles = text.split(',').map((part) => part.trim());
  for (const role of roles) {
    if (role !== 'all' && !(WORKER_ROLES as readonly string[]).includes(role)) {
      throw new GauntletError('BAD_INPUT', `--role ${role}: unknown; known: ${WORKER_ROLES.join(', ')}, all`);
    }
  }
  return WORKER_ROLES.filter((role) => roles.includes(role) || roles.includes('all'));
}

export function addWorker(program: Command): void {
  const command = program
    .command('worker')
    .description('serve task queues by role')
    .option('--role <roles>', `comma-separated: ${WORKER_ROLES.join(', ')}, or all`, 'all')
    .addOption(sandboxOption())
    .addOption(deviceOption())
    .option('--json', 'print one line of JSON when ready');
  withStore(command).action(async (flags: ConnectionOptions & { role: string; json?: boolean }) => {
    const output = createOutput(flags.json === true);
    const roles = parseRoles(flags.role);
    const session = await openSession(flags, output, 'here', roles);
    const { address } = session.server;
    await serve(session, () =>
      output.result({ roles, address, store: flags.store }, () => `serving ${roles.join(', ')} at ${address}`),
    );
  });
}
