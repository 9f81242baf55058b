// `gauntlet report ID`: the HTML page of a run, drawn from its records; also of one that still goes on.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { openFileStore } from '../../store/fileStore.js';
import { writeReport } from '../../store/runs.js';
import { renderRunReport } from '../../workers/report.js';
import { createOutput } from '../output.js';
import { withStore } from '../session.js';
import { chooseRun } from './checkpoints.js';

export function addReport(program: Command): void {
  const command = program
    .command('report')
    .description('write the HTML report of a run and print its path')
    .argument('[id]', 'run id; needed where the store holds several')
    .option('--json', 'one line of JSON');
  withStore(command, 'nobody').action(async (id: string | undefined, flags: { store: string; json?: boolean }) => {
    const store = await openFileStore(flags.store);
    const runId = await chooseRun(store, id);
    await writeReport(store, runId, await renderRunReport(store, runId));
    const path = resolve(flags.store, 'runs', runId, 'report.html');
    createOutput(flags.json === true).result({ runId, path }, () => path);
  });
}
