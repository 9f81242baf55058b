// `gauntlet worker`: workers of some roles, for a server that runs already. It never starts one: a host that forgot
// TEMPORAL_ADDRESS would serve an empty server of its own.
import { type Command, InvalidArgumentError } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { WORKER_ROLES, type WorkerRole } from '../../core/temporal/queues.js';
import { withServing } from '../input/options.js';
import { hasServer, openSession, type SessionFlags, serve, withStore } from '../run/session.js';
import { commandLine } from '../terminal/commandLine.js';
import { createOutput } from '../terminal/output.js';

export function parseRoles(text: string): WorkerRole[] {
  const roles = text.split(',').map((part) => part.trim());
  for (const role of roles) {
    if (role !== 'all' && !(WORKER_ROLES as readonly string[]).includes(role)) {
      throw new InvalidArgumentError(`No role '${role}'; roles are ${WORKER_ROLES.join(', ')}, all.`);
    }
  }
  return WORKER_ROLES.filter((role) => roles.includes(role) || roles.includes('all'));
}

export function addWorker(program: Command): void {
  const command = program
    .command('worker')
    .description('run workers for some task queues; Ctrl-C stops them')
    .option('--role <roles>', `comma-separated: ${WORKER_ROLES.join(', ')}, or all`, parseRoles, parseRoles('all'));
  withStore(withServing(command)).action(async (flags: SessionFlags & { role: WorkerRole[] }) => {
    const output = createOutput(flags.json);
    const { role: roles, store } = flags;
    if (!hasServer(store)) {
      const way = `set TEMPORAL_ADDRESS, or run a server and workers: ${commandLine('up')}`;
      throw new GauntletError('SERVER_UNAVAILABLE', `no Temporal server runs for this store: ${way}`);
    }
    const session = await openSession(flags, output, 'here', roles);
    const { address } = session.server;
    await serve(session, () =>
      output.result({ roles, address, store }, () => `serving ${roles.join(', ')} at ${address}`),
    );
  });
}
