// `gauntlet report`: writes the HTML page of a run from its records, also while the run is still training. With --out, it
// writes the pages of the dashboard.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { openResources } from '../../dashboard/data/resources.js';
import { reportFiles } from '../../dashboard/export.js';
import { openStore } from '../../store/openStore.js';
import { writeReport } from '../../store/runs.js';
import { renderRunReport } from '../../workers/report.js';
import { checkTarget, writeFolder } from '../export/folder.js';
import { chooseRun, RUN } from '../input/naming.js';
import { jsonOption } from '../input/options.js';
import { withStore } from '../run/session.js';
import { createOutput } from '../terminal/output.js';

interface Flags {
  store: string;
  out?: string;
  overwrite?: boolean;
  json?: boolean;
}

export function addReport(program: Command): void {
  const command = program
    .command('report')
    .description('write the HTML report of a run and print its path')
    .argument(...RUN)
    .option(
      '--out <folder>',
      'write the pages of the dashboard, with all rollouts, to a folder that opens without a server',
    )
    .option('--overwrite', 'replace an existing report in that folder')
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    const store = await openStore(flags.store);
    const runId = await chooseRun(store, named);
    if (flags.out !== undefined) {
      checkTarget(flags.out, { marker: 'main.js', kind: 'report', replace: flags.overwrite === true });
      await writeFolder(flags.out, reportFiles(openResources(store), runId));
      const path = resolve(flags.out, 'index.html');
      return output.result({ runId, path }, () => path);
    }
    if (flags.overwrite) output.note('--overwrite: without effect, because only --out has a folder to replace');
    await writeReport(store, runId, await renderRunReport(store, runId));
    const path = store.locate(`runs/${runId}/report.html`);
    output.result({ runId, path }, () => path);
  });
}
