// `gauntlet checkpoints`: what a run has saved, whether every byte of it is whole, and where best and latest lie.
import { join } from 'node:path';
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { listCheckpoints, loadCheckpoint } from '../../store/checkpoints.js';
import { openFileStore } from '../../store/fileStore.js';
import type { Store } from '../../store/store.js';
import { type Finding, type Verified, verifyStore } from '../../store/verify.js';
import { createOutput, megabytes, percent, tableText } from '../output.js';
import { withStore } from '../session.js';
import { folderOf } from '../stored.js';

interface Flags {
  store: string;
  run?: string;
  json?: boolean;
}

/** The run that was named, or the only one there is. */
export async function chooseRun(store: Store, asked: string | undefined): Promise<string> {
  const runs = await store.listRuns();
  if (asked !== undefined) {
    if (runs.includes(asked)) return asked;
    throw new GauntletError(
      'NOT_FOUND',
      `no run '${asked}' in ${folderOf(store)}; there are: ${runs.join(', ') || 'none'}`,
    );
  }
  if (runs.length === 1) return runs[0]!;
  const way =
    runs.length === 0 ? 'train one first: npx gauntlet train --watch' : `choose one with --run: ${runs.join(', ')}`;
  throw new GauntletError('NOT_FOUND', `${runs.length} runs in ${folderOf(store)}; ${way}`);
}

export function addCheckpoints(program: Command): void {
  const group = program.command('checkpoints').description('list, verify or find the checkpoints of a run');
  const add = (
    name: string,
    description: string,
    action: (store: Store, run: string, json: boolean) => Promise<void>,
  ): void => {
    const command = group
      .command(name)
      .description(description)
      .option('--run <id>', 'run id; needed where the store holds several')
      .option('--json', 'one line of JSON');
    withStore(command, 'nobody').action(async (flags: Flags) => {
      const store = await openFileStore(flags.store);
      await action(store, await chooseRun(store, flags.run), flags.json === true);
    });
  };
  add('list', 'all checkpoints with their scores', async (store, run, json) => {
    const list = await listCheckpoints(store, run);
    createOutput(json).result(list, () => {
      if (list.length === 0) return `run ${run} has no checkpoint yet`;
      return tableText(
        ['checkpoint', 'step', 'score', 'pass rate', 'greedy', 'valid tests'],
        list.map(({ name, step, score, validation }) => [
          name,
          step,
          score.toFixed(3),
          percent(validation.passRate),
          percent(validation.greedyPassRate),
          percent(validation.testValidity),
        ]),
      );
    });
  });
  addVerify(group);
  for (const which of ['best', 'latest'] as const) {
    add(which, `the ${which} checkpoint, verified, and its folder`, async (store, run, json) => {
      const { metadata } = await loadCheckpoint(store, run, which);
      const folder = checkpointFolder(store, run, metadata.name);
      createOutput(json).result(
        { ...metadata, folder },
        () => `${metadata.name}  score ${metadata.score.toFixed(3)}\n${folder}`,
      );
    });
  }
}

function addVerify(group: Command): void {
  const command = group
    .command('verify')
    .description(
      'read every byte of the store (runs, checkpoints, memo rows, artifacts) and compare every digest; exit code 1 where anything is wrong',
    )
    .argument('[run]', 'only this run and the artifacts that it names')
    .option('--run <id>', 'the same')
    .option('--json', 'one line of JSON');
  withStore(command, 'nobody').action(async (named: string | undefined, flags: Flags) => {
    const store = await openFileStore(flags.store);
    const asked = named ?? flags.run;
    const verified = await verifyStore(store, asked === undefined ? undefined : await chooseRun(store, asked));
    createOutput(flags.json === true).result(verified, () => verifiedText(verified));
    if (!verified.ok) process.exitCode = 1;
  });
}

/** What is wrong and what to do about it, then what was looked at. */
export function verifiedText({ ok, findings, checked, notes }: Verified): string {
  const finding = ({ name, problem, help }: Finding): string => `✗ ${name}: ${problem}\n    ${help}`;
  const { runs, checkpoints, records, memos, blobs, bytes } = checked;
  const looked = `${runs} ${runs === 1 ? 'run' : 'runs'}, ${checkpoints} checkpoints and pointers, ${records} records, ${memos} memo rows, ${blobs} artifacts (${megabytes(bytes)})`;
  return [
    ...findings.map(finding),
    ...notes.map((note) => `- ${note}`),
    ok ? `✓ whole: ${looked}` : `${findings.length} damaged or missing among ${looked}`,
  ].join('\n');
}

export function checkpointFolder(store: Store, run: string, name: string): string {
  return join(folderOf(store), 'runs', run, 'checkpoints', name);
}
