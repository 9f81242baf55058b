// `gauntlet report`: writes the HTML page of a run from its records, also while the run is still training.
import type { Command } from 'commander';
import { renderReport } from '../../dashboard/report.js';
import { openStore } from '../../store/openStore.js';
import { writeReport } from '../../store/runs.js';
import { chooseRun, RUN } from '../input/naming.js';
import { jsonOption } from '../input/options.js';
import { withStore } from '../run/session.js';
import { createOutput } from '../terminal/output.js';

export function addReport(program: Command): void {
  const command = program
    .command('report')
    .description('write the HTML report of a run and print its path')
    .argument(...RUN)
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (named: string | undefined, flags: { store: string; json?: boolean }) => {
    const output = createOutput(flags.json);
    const store = await openStore(flags.store);
    const runId = await chooseRun(store, named);
    await writeReport(store, runId, await renderReport(store, runId));
    const path = store.locate(`runs/${runId}/report.html`);
    output.result({ runId, path }, () => path);
  });
}
