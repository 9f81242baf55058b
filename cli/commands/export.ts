// `gauntlet export`: writes the records of a run for tools that users already have.
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import { CachedStore } from '../../dashboard/data/cachedStore.js';
import { readRunRecords } from '../../dashboard/data/records.js';
import { openStore } from '../../store/openStore.js';
import { MANIFEST } from '../../store/runs.js';
import type { ExportedFiles, Exporter } from '../export/exporter.js';
import { checkTarget, writeFolder } from '../export/folder.js';
import { inspectLogs } from '../export/inspect.js';
import { metricLines, rolloutLines } from '../export/jsonl.js';
import { eventFiles } from '../export/tensorboard.js';
import { chooseRun, RUN } from '../input/naming.js';
import { jsonOption } from '../input/options.js';
import { type StoreFlags, withStore } from '../run/session.js';
import { createOutput } from '../terminal/output.js';

const FORMATS = {
  jsonl: metricLines,
  tensorboard: eventFiles,
  inspect: inspectLogs,
} satisfies Record<string, Exporter>;
const MARKER = 'gauntlet-export.json'; // this file is written last, and shows that a folder may be replaced

interface Flags extends StoreFlags {
  format: keyof typeof FORMATS;
  out: string;
  rollouts?: boolean;
  overwrite?: boolean;
}

export function addExport(program: Command): void {
  const command = program
    .command('export')
    .description('write the metrics, rollouts or evaluations of a run for other tools')
    .argument(...RUN)
    .addOption(
      new Option(
        '--format <format>',
        'jsonl: JSON lines of metrics; tensorboard: event files; inspect: logs of evaluations for Inspect',
      )
        .choices(Object.keys(FORMATS))
        .makeOptionMandatory(),
    )
    .requiredOption('--out <folder>', 'folder to write')
    .option('--rollouts', 'with jsonl: also write all sampled programs and tests')
    .option('--overwrite', 'replace an existing export in that folder')
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (named: string | undefined, flags: Flags) => {
    const { format, rollouts, out, overwrite } = flags;
    if (rollouts && format !== 'jsonl') throw new GauntletError('BAD_INPUT', '--rollouts needs --format jsonl');
    const store = new CachedStore(await openStore(flags.store));
    const id = await chooseRun(store, named);
    checkTarget(out, { marker: MARKER, kind: 'export', replace: overwrite === true });
    const records = await readRunRecords(store, id);
    const run = { id, store, records, startedAt: (await store.runFileUsedAt(id, MANIFEST)) ?? 0 };
    const output = createOutput(flags.json);
    const write: Exporter = rollouts ? rolloutLines : FORMATS[format];
    const files: string[] = [];
    await writeFolder(out, withMarker(write(run), { run: id, format }, files));
    const folder = resolve(out);
    output.result({ run: id, format, folder, files }, () => folder);
  });
}

async function* withMarker(written: ExportedFiles, facts: object, files: string[]): ExportedFiles {
  for await (const file of written) {
    files.push(file[0]);
    yield file;
  }
  yield [MARKER, `${JSON.stringify(facts)}\n`];
}
