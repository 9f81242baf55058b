// `gauntlet status [id]`: the runs of this store, or where one run stands.
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { type RunProgress, type RunResult, runResultSchema } from '../../core/schema/run.js';
import { openFileStore } from '../../store/fileStore.js';
import type { trainFullPipeline } from '../../workflows/trainFullPipeline.js';
import { checkIsRun, describeExecution, type Held, heldActivities, heldText } from '../executions.js';
import { createOutput, describeError, tableText } from '../output.js';
import { pleaOf, progressLine } from '../progress.js';
import { resultTable } from '../results.js';
import { type ConnectionOptions, hasPollers, openSession, statusOf, withStore } from '../session.js';
import { folderOf, storedRun } from '../stored.js';
import { follow, type TrainingHandle } from '../training.js';
import { queryProgress } from '../watch.js';

const FORGOTTEN = 'ONLY IN THE STORE'; // the server does not know it, or no longer

interface Standing {
  id: string;
  status: string;
  held?: Held[]; // what is paused on the server, or is tried again
  steps?: number; // of one that only the store knows
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
  withStore(command, 'a server').action(
    async (id: string | undefined, flags: ConnectionOptions & { json?: boolean; watch?: boolean }) => {
      const output = createOutput(flags.json === true);
      const session = await openSession(flags, output, 'none');
      const store = await openFileStore(flags.store);
      try {
        if (id === undefined) {
          const runs: { id: string; status: string; started?: string }[] = [];
          for await (const run of session.client.workflow.list({ query: `WorkflowType = 'trainFullPipeline'` })) {
            // latest first: of a run that was started again under its id, the attempt that counts
            if (runs.some(({ id }) => id === run.workflowId)) continue;
            const [state] = (run.searchAttributes.GauntletState ?? []) as string[];
            const rests = run.status.name === 'RUNNING' && (state === 'paused' || state === 'waiting');
            const status = rests ? `RUNNING (${state})` : run.status.name;
            runs.push({ id: run.workflowId, status, started: run.startTime.toISOString() });
          }
          for (const id of await store.listRuns()) {
            if (!runs.some((run) => run.id === id)) runs.push({ id, status: FORGOTTEN });
          }
          output.result(runs, () => runTable(runs));
          return;
        }
        const found = await describeExecution(session.client, id);
        if (found === undefined) {
          const stored = await storedRun(store, id);
          if (stored === undefined) {
            const where = `on this server, nor in ${folderOf(store)}`;
            throw new GauntletError('NOT_FOUND', `no run '${id}' ${where}; list them with: npx gauntlet status`);
          }
          const { steps, result } = stored;
          const standing = { id, status: FORGOTTEN, steps, ...(result && { result }) };
          output.result(standing, () => describe(standing));
          return;
        }
        checkIsRun(found, 'status');
        const status = found.status.name;
        const handle = session.client.workflow.getHandle<typeof trainFullPipeline>(id);
        if (flags.watch && status === 'RUNNING') {
          if (!(await hasPollers(session.client))) output.note('no worker serves it yet: npx gauntlet up');
          const followed = await follow(session, handle, output, `npx gauntlet status ${id} --watch`);
          if (followed === undefined) return;
        }
        const now = (await statusOf(session.client, id)) ?? status;
        const standing = await standingOf(session.client, handle, now);
        output.result(standing, () => describe(standing));
      } finally {
        await session.close();
      }
    },
  );
}

function runTable(runs: { id: string; status: string; started?: string }[]): string {
  if (runs.length === 0) return 'no runs yet: npx gauntlet train --watch';
  return tableText(
    ['run', 'status', 'started'],
    runs.map(({ id, status, started }) => [id, inWords(status), started ?? '–']),
  );
}

const inWords = (status: string): string => status.toLowerCase().replaceAll('_', ' ');

async function standingOf(client: Client, handle: TrainingHandle, status: string): Promise<Standing> {
  const id = handle.workflowId;
  const standing: Standing = { id, status };
  if (status === 'RUNNING' || status === 'PAUSED') {
    const held = await heldActivities(client, await handle.describe());
    const served = status === 'RUNNING' && (await hasPollers(client)); // or the query would wait for its time to be up
    const progress = served ? await queryProgress(handle) : undefined;
    return { ...standing, ...(held.length > 0 && { held }), ...(progress && { progress }) };
  }
  try {
    return { ...standing, result: runResultSchema.parse(await handle.result()) };
  } catch (error) {
    return { ...standing, failure: describeError(error) };
  }
}

function describe({ id, status, held = [], steps, progress, result, failure }: Standing): string {
  const head = `${id}: ${inWords(status)}${steps === undefined ? '' : ` (${steps} steps done)`}`;
  const resume = `go on with: npx gauntlet resume ${id} --watch`;
  if (result !== undefined) return `${head}\n${resultTable(result)}`;
  if (failure !== undefined) {
    const again = `start it with a corrected one: npx gauntlet train --id ${id} …`; // the same would fail again
    return `${head}\n${failure}\n${failure.endsWith('[BAD_CONFIG]') ? again : resume}`;
  }
  if (steps !== undefined) return `${head}\n${resume}`;
  const lines = held.map((each) => heldText(id, each));
  if (progress === undefined && status === 'RUNNING') lines.push('no worker answers: npx gauntlet up');
  if (progress !== undefined) lines.unshift(progressLine(progress));
  const plea = progress && pleaOf(progress);
  return [head, ...lines, ...(plea === undefined ? [] : [plea])].join('\n');
}
