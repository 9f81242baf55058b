// `gauntlet status [id]`: the runs of this store, or where one run stands.
import Table from 'cli-table3';
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, statusOf, withConnection } from '../session.js';
import { progressLine, queryProgress, watchRun } from '../watch.js';

export function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description('list the runs, or say where one stands')
    .argument('[id]', 'run id')
    .option('--watch', 'follow the run')
    .option('--json', 'one line of JSON');
  withConnection(command).action(
    async (id: string | undefined, flags: ConnectionOptions & { json?: boolean; watch?: boolean }) => {
      const output = createOutput(flags.json === true);
      const session = await openSession(flags, output, 'none');
      try {
        if (id === undefined) {
          const runs: { id: string; status: string; started: string }[] = [];
          for await (const run of session.client.workflow.list({ query: `WorkflowType = 'trainFullPipeline'` })) {
            runs.push({ id: run.workflowId, status: run.status.name, started: run.startTime.toISOString() });
          }
          output.result(runs, () => {
            if (runs.length === 0) return 'no runs yet: gauntlet train --watch';
            const table = new Table({ head: ['run', 'status', 'started'] });
            for (const run of runs) table.push([run.id, run.status.toLowerCase(), run.started]);
            return table.toString();
          });
          return;
        }
        const status = await statusOf(session.client, id);
        if (status === undefined)
          throw new GauntletError('NOT_FOUND', `no run '${id}' on this server; list them with: gauntlet status`);
        const handle = session.client.workflow.getHandle(id);
        if (flags.watch && status === 'RUNNING') await watchRun(handle);
        const progress = await queryProgress(handle);
        output.result({ id, status: (await statusOf(session.client, id)) ?? status, progress }, () =>
          [
            `${id}: ${status.toLowerCase()}`,
            progress === undefined ? 'no worker answers: gauntlet up' : progressLine(progress),
          ].join('\n'),
        );
      } finally {
        await session.close();
      }
    },
  );
}
