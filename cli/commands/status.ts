// `gauntlet status [RUN]`: lists the runs of this store, or shows one. It never starts a server.
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { type RecordedWarning, recordedWarnings, warningText } from '../../core/run/answerShares.js';
import type { EnvironmentRecord } from '../../core/schema/environment.js';
import { readEnvironments } from '../../store/environments.js';
import { openStore } from '../../store/openStore.js';
import { RESULT, readMetrics } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { jsonOption } from '../input/options.js';
import { heldText, inWords } from '../run/executions.js';
import { hasServer, type Session, type SessionFlags, withSession, withStore } from '../run/session.js';
import { heldState, needOf, type RunStatus, STORED, statusOfRun } from '../run/status.js';
import { commandLine } from '../terminal/commandLine.js';
import { createOutput, tableText } from '../terminal/output.js';
import { attentionOf, progressLine, reasonText, warningLine, warningsIn, wayAfter } from '../terminal/progress.js';
import { resultTable } from '../terminal/results.js';

export function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description('list the runs, or show the status of one')
    .argument('[run]', 'run id (default: list all runs)')
    .option('-w, --watch', 'follow the run')
    .addOption(jsonOption());
  type Flags = SessionFlags & { watch?: boolean };
  withStore(command, 'server').action(async (id: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    if (flags.watch && id === undefined) output.note('--watch: without effect, because no run is named');
    const store = await openStore(flags.store);
    const show = async (session?: Session): Promise<void> => {
      if (id === undefined) {
        const runs = await listRuns(store, session?.client);
        return output.result(runs, () => runTable(runs));
      }
      const status = await statusOfRun(id, store, session, flags.watch ? output : undefined);
      if (!status) return;
      const environments = await environmentsOf(store, id);
      const warnings = status.progress === undefined ? await storedWarnings(store, id) : [];
      const shown: RunStatus = {
        ...status,
        ...(environments.length > 0 && { environments }),
        ...(warnings.length > 0 && { warnings }),
      };
      output.result(shown, () => [statusText(shown), ...environments.map(environmentLine)].join('\n'));
    };
    if (hasServer(flags.store)) return withSession(flags, output, 'none', show);
    output.note(`no Temporal server runs: this is what the store knows (start a server: ${commandLine('up')})`);
    await show();
  });
}

/** Returns no warnings if a record is damaged: `gauntlet store verify` reports that. */
async function storedWarnings(store: Store, id: string): Promise<RecordedWarning[]> {
  try {
    return recordedWarnings(await readMetrics(store, id));
  } catch (error) {
    if (error instanceof GauntletError && error.code === 'CORRUPT_ARTIFACT') return [];
    throw error;
  }
}

async function environmentsOf(store: Store, id: string): Promise<EnvironmentRecord[]> {
  return [...(await readEnvironments(store, id, 'sandbox')), ...(await readEnvironments(store, id, 'engine'))];
}

/** For example 'sandbox: backend docker, packages none, python 3.11.2; code 0.2.0+1d909da12345, image sha256:80a8…'. */
function environmentLine({ part, facts, details, accepted }: EnvironmentRecord): string {
  const listed = (texts: Record<string, string>) =>
    Object.entries(texts)
      .map(([name, text]) => `${name} ${text}`)
      .join(', ');
  return `${part}${accepted ? ' (accepted change)' : ''}: ${listed(facts)}; ${listed(details)}`;
}

interface ListedRun {
  id: string;
  status: string;
  started?: string;
  finished?: boolean; // only set for a run that only the store knows
  attention?: RunStatus['attention']; // only set for a run that waits or has failed
}

async function listRuns(store: Store, client?: Client): Promise<ListedRun[]> {
  const runs = new Map<string, ListedRun>();
  for await (const run of client?.workflow.list({ query: `WorkflowType = 'trainFullPipeline'` }) ?? []) {
    const later = runs.get(run.workflowId);
    const started = run.startTime.toISOString();
    if (later) {
      later.started = started; // the list is latest first: this execution was continued or started again
      continue;
    }
    const attention = await needOf(store, run.workflowId, run.status.name);
    const held = heldState(run);
    const status = held === undefined ? run.status.name : `RUNNING (${held})`;
    runs.set(run.workflowId, { id: run.workflowId, status, started, attention });
  }
  for (const id of await store.listRuns()) {
    if (runs.has(id)) continue;
    const finished = (await store.runFileUsedAt(id, RESULT)) !== undefined;
    const [started] = (await environmentsOf(store, id)).map(({ at }) => at).sort(); // file times change when a store is copied
    const attention = finished ? undefined : await needOf(store, id, STORED);
    runs.set(id, { id, status: STORED, started, finished, attention });
  }
  return [...runs.values()];
}

function runTable(runs: ListedRun[]): string {
  if (runs.length === 0) return `no runs yet: start one with ${commandLine('train --watch')}`;
  return tableText(
    ['run', 'status', 'started', 'reason'],
    runs.map(({ id, status, started, finished, attention }) => {
      const end = finished === undefined ? '' : `, ${finished ? 'finished' : (attention?.state ?? 'not finished')}`;
      const reason = attention?.failure ? reasonText(attention.failure).replace(/(?<=^.{60}).+/s, '…') : '–';
      return [id, `${inWords(status)}${end}`, started === undefined ? '–' : localTime(started), reason];
    }),
  );
}

/** Returns a time such as '2026-11-22 18:25:30' in the time zone of this machine. */
const localTime = (time: string): string => new Date(time).toLocaleString('sv-SE');

function statusText({ warnings = [], ...status }: RunStatus): string {
  const { progress } = status;
  const lines = progress ? warningsIn(progress).map(({ line }) => line) : [];
  const stored = warnings.map((warning) => warningLine(warningText(warning)));
  return [stateText(status), ...lines, ...stored].join('\n');
}

function stateText({ id, status, held = [], steps, progress, attention: need, result, failure }: RunStatus): string {
  const state = steps === undefined ? '' : `${need ? `, ${need.state}` : ''} (steps done: ${steps})`;
  const head = `${id}: ${inWords(status)}${state}`;
  const code = need?.failure?.code ?? /\[(\w+)\]$/.exec(failure ?? '')?.[1];
  const way = wayAfter('continue with', id, need?.state === 'waiting' ? undefined : code, ' --watch');
  if (result !== undefined) return `${head}\n${resultTable(result)}`;
  if (failure !== undefined) return `${head}\n${failure}\n${way}`;
  if (steps !== undefined) return [head, ...(need?.failure ? [reasonText(need.failure)] : []), way].join('\n');
  const shown = progress ?? need;
  const attention = shown && attentionOf(shown);
  return [
    head,
    ...(progress ? [progressLine(progress)] : []),
    ...held.map((each) => heldText(id, each)),
    ...(progress === undefined && status === 'RUNNING'
      ? [`no worker answers: start one with ${commandLine('up')}`]
      : []),
    ...(attention === undefined ? [] : [attention]),
  ].join('\n');
}
