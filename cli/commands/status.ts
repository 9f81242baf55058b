// `gauntlet status [id]`: the runs of this store, or where one run stands.
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { type RunProgress, type RunResult, runResultSchema } from '../../core/schema/run.js';
import type { trainFullPipeline } from '../../workflows/trainFullPipeline.js';
import { createOutput, describeError, tableText } from '../output.js';
import { pleaOf, progressLine } from '../progress.js';
import { resultTable } from '../results.js';
import { type ConnectionOptions, hasPollers, openSession, statusOf, withStore } from '../session.js';
import { follow, type TrainingHandle } from '../training.js';
import { queryProgress } from '../watch.js';

interface Standing {
  id: string;
  status: string;
  progress?: RunProgress; // of one that goes on, where a worker answers
  result?: RunResult;
  failure?: string;
}

export function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description('list the runs, or say where one stands')
    .argument('[id]', 'run id')
    .option('--watch', 'follow the run')
    .option('--json', 'one line of JSON');
  withStore(command).action(
    async (id: string | undefined, flags: ConnectionOptions & { json?: boolean; watch?: boolean }) => {
      const output = createOutput(flags.json === true);
      const session = await openSession(flags, output, 'none');
      try {
        if (id === undefined) {
          const runs: { id: string; status: string; started: string }[] = [];
          for await (const run of session.client.workflow.list({ query: `WorkflowType = 'trainFullPipeline'` })) {
            // latest first: of a run that was started again under its id, the attempt that counts
            if (runs.some(({ id }) => id === run.workflowId)) continue;
            runs.push({ id: run.workflowId, status: run.status.name, started: run.startTime.toISOString() });
          }
          output.result(runs, () => runTable(runs));
          return;
        }
        const status = await statusOf(session.client, id);
        if (status === undefined) {
          throw new GauntletError('NOT_FOUND', `no run '${id}' on this server; list them with: npx gauntlet status`);
        }
        const handle = session.client.workflow.getHandle<typeof trainFullPipeline>(id);
        if (flags.watch && status === 'RUNNING') {
          if (!(await hasPollers(session.client))) output.note('no worker serves it yet: npx gauntlet up');
          const followed = await follow(session, handle, output, `npx gauntlet status ${id} --watch`);
          if (followed === undefined) return;
        }
        const standing = await standingOf(handle, (await statusOf(session.client, id)) ?? status);
        output.result(standing, () => describe(standing));
      } finally {
        await session.close();
      }
    },
  );
}

function runTable(runs: { id: string; status: string; started: string }[]): string {
  if (runs.length === 0) return 'no runs yet: npx gauntlet train --watch';
  return tableText(
    ['run', 'status', 'started'],
    runs.map(({ id, status, started }) => [id, status.toLowerCase(), started]),
  );
}

async function standingOf(handle: TrainingHandle, status: string): Promise<Standing> {
  const standing: Standing = { id: handle.workflowId, status };
  if (status === 'RUNNING') {
    const progress = await queryProgress(handle);
    return progress === undefined ? standing : { ...standing, progress };
  }
  try {
    return { ...standing, result: runResultSchema.parse(await handle.result()) };
  } catch (error) {
    return { ...standing, failure: describeError(error) };
  }
}

function describe({ id, status, progress, result, failure }: Standing): string {
  const head = `${id}: ${status.toLowerCase()}`;
  if (result !== undefined) return `${head}\n${resultTable(result)}`;
  if (failure !== undefined) return `${head}\n${failure}\ngo on with: npx gauntlet resume ${id} --watch`;
  if (progress === undefined) return `${head}\nno worker answers: npx gauntlet up`;
  return [head, progressLine(progress), pleaOf(progress)].filter((line) => line !== undefined).join('\n');
}
