// `gauntlet fork`: a new run that starts at a checkpoint of another run, with other settings from there on.
import type { Command } from 'commander';
import { merged, resolveConfig } from '../../core/presets.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { loadCheckpoint, touchCheckpoint } from '../../store/checkpoints.js';
import { checkRunId } from '../../store/checks.js';
import type { ObjectStore } from '../../store/objectStore.js';
import { openStore } from '../../store/openStore.js';
import { readConfigAt, readInput } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { checkRollouts, fieldsOf, withPaths } from '../config.js';
import { type CheckpointId, chooseCheckpoint, REQUIRED_CHECKPOINT } from '../naming.js';
import { deviceOption, jsonOption, OF_RUN, sandboxOption, setOption, watchOption } from '../options.js';
import { createOutput } from '../output.js';
import { hasServer, type SessionFlags, withSession, withStore } from '../session.js';
import { conclude, startOrJoin } from '../training.js';

type Flags = SessionFlags & { set: string[]; watch?: boolean };

/**
 * The configuration of the run as it was at the checkpoint, changed by `fields`. Device, budget and failure handling are not
 * in the checkpoint, so they come from the input of the run. `engine.force` is off: the run may be another person's.
 */
export async function forkInput(
  store: Store,
  { runId, name }: CheckpointId,
  fields: Record<string, unknown>,
): Promise<{ input: RunConfigInput; name: string }> {
  const { metadata } = await loadCheckpoint(store, runId, name);
  const config = await readConfigAt(store, metadata);
  const { budget, failure, ...own } = (await readInput(store, runId)) ?? config;
  const engine = { ...own.engine, force: false };
  const start = { run: runId, checkpoint: metadata.name, schedule: 'rest' } as const;
  return {
    input: resolveConfig({ ...merged({ ...config, engine, budget, failure }, fields), start }),
    name: metadata.name,
  };
}

/** The id and the input of a new run. `store gc` keeps the checkpoint until a worker has prepared the fork. */
export async function prepareFork(
  store: ObjectStore,
  from: CheckpointId,
  fields: Record<string, unknown>,
  named?: string,
): Promise<{ id: string; input: RunConfigInput; name: string }> {
  const { input, name } = await forkInput(store, from, withPaths(fields));
  const id = named ?? `${from.runId}-from-${name.replace('checkpoint_', '')}`;
  checkRunId(id);
  await touchCheckpoint(store, from.runId, name);
  return { id, input, name };
}

export function addFork(program: Command): void {
  const command = program
    .command('fork')
    .description('start a new run at a checkpoint of another run, with the rest of its schedule')
    .argument(...REQUIRED_CHECKPOINT)
    .argument('[run]', 'id of the new run (default: <run>-from-<checkpoint>)')
    .addOption(sandboxOption(OF_RUN))
    .addOption(deviceOption(OF_RUN))
    .addOption(setOption())
    .addOption(watchOption())
    .addOption(jsonOption());
  withStore(command, 'reads').action(async (from: string, named: string | undefined, flags: Flags) => {
    const output = createOutput(flags.json);
    const store = await openStore(flags.store);
    const checkpoint = await chooseCheckpoint(store, from);
    const { id, input, name } = await prepareFork(store, checkpoint, fieldsOf(flags), named);
    if (!hasServer(flags.store)) checkRollouts(input, flags.store); // this machine will have the workers
    await withSession(flags, output, flags.watch ? 'if-none-poll' : 'none', async (session) => {
      if (session.workers !== undefined) checkRollouts(input, flags.store);
      const joined = await startOrJoin(session.client, id, input);
      output.note(`${joined.how} run '${id}' from ${name} of run '${checkpoint.runId}'`);
      await conclude(session, joined, output, flags.watch === true);
    });
  });
}
