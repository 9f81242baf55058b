// `gauntlet fork ID --at WHERE`: a new run that goes on from a checkpoint of another, with other settings from there on.
import type { Command } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { merged, resolveConfig } from '../../core/presets.js';
import { type CheckpointMetadata, checkpointName } from '../../core/schema/checkpoint.js';
import { type RunConfig, type RunConfigInput, runConfigSchema } from '../../core/schema/config.js';
import { loadCheckpoint, touchCheckpoint } from '../../store/checkpoints.js';
import { checkRunId } from '../../store/checks.js';
import { openFileStore } from '../../store/fileStore.js';
import { readRun } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { parseAssignments, setOption } from '../config.js';
import { createOutput } from '../output.js';
import { type ConnectionOptions, openSession, withStore } from '../session.js';
import { conclude, startOrJoin } from '../training.js';
import { chooseRun } from './checkpoints.js';

type Flags = ConnectionOptions & { at: string; id?: string; set: string[]; watch?: boolean; json?: boolean };

/** 'stage-3/epoch-2', 'best', 'latest' or a checkpoint's own name. @throws GauntletError BAD_INPUT */
export function checkpointAt(where: string): string {
  const place = /^stage-([0-5])\/epoch-(\d{1,6})$/.exec(where);
  if (place) return checkpointName(Number(place[1]), Number(place[2]));
  if (where === 'best' || where === 'latest' || where.startsWith('checkpoint_stage_')) return where;
  throw new GauntletError('BAD_INPUT', `--at ${where}: write stage-3/epoch-2, best, latest or a checkpoint's name`);
}

/** The run's configuration as it was at the checkpoint, with other fields, beginning there. */
export async function forkInput(
  store: Store,
  runId: string,
  where: string,
  fields: Record<string, unknown>,
): Promise<{ input: RunConfigInput; name: string }> {
  const { metadata } = await loadCheckpoint(store, runId, checkpointAt(where));
  const known = await store.hasBlob(metadata.configDigest);
  const config = known
    ? configOf(await store.getJson(metadata.configDigest), metadata)
    : (await readRun(store, runId)).config;
  const start = { run: runId, checkpoint: metadata.name, schedule: 'rest' } as const;
  return { input: resolveConfig({ ...merged(config, fields), start }), name: metadata.name };
}

function configOf(json: unknown, { name, configDigest }: CheckpointMetadata): RunConfig {
  const parsed = runConfigSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const what = [issue?.path.join('.'), issue?.message].filter(Boolean).join(': ');
  throw new GauntletError('BAD_CHECKPOINT', `${name}: ${configDigest} is no configuration: ${what}`);
}

export function addFork(program: Command): void {
  const command = program
    .command('fork')
    .description('start a new run from a checkpoint of another, with the rest of its schedule')
    .argument('<id>', 'run to begin from')
    .requiredOption('--at <where>', 'stage-3/epoch-2, best, latest or a checkpoint')
    .option('--id <id>', 'id of the new run (default: <id>-from-<checkpoint>)')
    .addOption(setOption())
    .option('--watch', 'follow the run to its end; serves it from this process where no worker does')
    .option('--json', 'end with one line of JSON on standard output');
  withStore(command, 'nobody').action(async (from: string, flags: Flags) => {
    const output = createOutput(flags.json === true);
    const store = await openFileStore(flags.store);
    const run = await chooseRun(store, from);
    const { input, name } = await forkInput(store, run, flags.at, parseAssignments(flags.set));
    await touchCheckpoint(store, run, name); // `gauntlet gc` leaves it until a worker has prepared the fork
    const id = flags.id ?? `${from}-from-${name.replace('checkpoint_', '')}`;
    checkRunId(id);
    const session = await openSession(flags, output, flags.watch ? 'if-none-poll' : 'none');
    try {
      const joined = await startOrJoin(session.client, id, input);
      output.note(`${joined.how} run '${id}' from ${name} of run '${from}'`);
      await conclude(session, joined, output, flags.watch === true);
    } finally {
      await session.close();
    }
  });
}
