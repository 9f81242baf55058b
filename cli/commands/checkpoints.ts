// `gauntlet checkpoints`: lists the checkpoints of a run, verifies one and prints its folder, or exports one.
import type { Command } from 'commander';
import { bestCheckpoint, listCheckpoints, loadCheckpoint } from '../../store/checkpoints.js';
import { openStore } from '../../store/openStore.js';
import type { Store } from '../../store/store.js';
import { CHECKPOINT, chooseCheckpoint, chooseRun, RUN } from '../input/naming.js';
import { jsonOption } from '../input/options.js';
import { type StoreFlags, withStore } from '../run/session.js';
import { createOutput, percent, tableText } from '../terminal/output.js';
import { addCheckpointExport } from './checkpoints/export.js';

export function addCheckpoints(program: Command): void {
  const group = program.command('checkpoints').description('list the checkpoints of a run, show or export one');
  const list = group.command('list').description('list all checkpoints of a run with their scores');
  withStore(list.argument(...RUN).addOption(jsonOption()), 'reads').action(async (named: string, flags: StoreFlags) => {
    const store = await openStore(flags.store);
    const run = await chooseRun(store, named);
    const checkpoints = await listCheckpoints(store, run);
    createOutput(flags.json).result(checkpoints, () => {
      if (checkpoints.length === 0) return `run '${run}' has no checkpoint yet`;
      const [best, latest] = [bestCheckpoint(checkpoints), checkpoints.at(-1)].map((one) => one?.name);
      return tableText(
        ['checkpoint', 'step', 'score', 'pass rate', 'greedy', 'valid tests'],
        checkpoints.map(({ name, step, score, validation }) => [
          [name, ...(name === best ? ['(best)'] : []), ...(name === latest ? ['(latest)'] : [])].join(' '),
          step,
          score.toFixed(3),
          percent(validation.passRate),
          percent(validation.greedyPassRate),
          percent(validation.testValidity),
        ]),
      );
    });
  });
  const show = group.command('show').description('verify a checkpoint and print its folder');
  withStore(show.argument(...CHECKPOINT).addOption(jsonOption()), 'reads').action(
    async (named: string, flags: StoreFlags) => {
      const store = await openStore(flags.store);
      const { runId, name } = await chooseCheckpoint(store, named);
      const { metadata } = await loadCheckpoint(store, runId, name);
      const folder = checkpointFolder(store, runId, metadata.name);
      createOutput(flags.json).result(
        { ...metadata, folder },
        () => `${metadata.name}  score ${metadata.score.toFixed(3)}\n${folder}`,
      );
    },
  );
  addCheckpointExport(group);
}

export const checkpointFolder = (store: Store, run: string, name: string): string =>
  store.locate(`runs/${run}/checkpoints/${name}`);
