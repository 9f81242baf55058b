// How commands name things: RUN is a run id, RUN/NAME is a checkpoint of that run.
import { GauntletError } from '../../core/base/errors.js';
import { checkpointNameSchema } from '../../core/schema/checkpoint.js';
import { MANIFEST } from '../../store/runs.js';
import type { Store } from '../../store/store.js';
import { commandLine } from '../terminal/commandLine.js';
import { note } from '../terminal/output.js';

export const RUN = ['[run]', 'run id (default: the run that was started last)'] as const;
const FORMS = 'RUN/NAME, with NAME from `gauntlet checkpoints list`, best or latest; RUN alone is RUN/best';
export const CHECKPOINT = ['[checkpoint]', `${FORMS} (default: best of the run that was started last)`] as const;
export const REQUIRED_CHECKPOINT = ['<checkpoint>', FORMS] as const;

/** @returns `named`, or the run of the store that was started last. @throws GauntletError NOT_FOUND */
export async function chooseRun(store: Store, named?: string): Promise<string> {
  const runs = await store.listRuns();
  const place = store.locate('');
  if (named !== undefined) {
    if (runs.includes(named)) return named;
    throw new GauntletError('NOT_FOUND', `no run '${named}' in ${place}; there are: ${runs.join(', ') || 'none'}`);
  }
  const started = await Promise.all(runs.map(async (run) => (await store.runFileUsedAt(run, MANIFEST)) ?? 0));
  const latest = runs[started.lastIndexOf(Math.max(...started))];
  if (latest === undefined)
    throw new GauntletError('NOT_FOUND', `no run in ${place}: start one with ${commandLine('demo')}`);
  if (runs.length > 1) note(`run '${latest}' (started last of ${runs.length})`);
  return latest;
}

export interface CheckpointId {
  runId: string;
  name: string; // 'best', 'latest' or the checkpoint's own name
}

export const isCheckpointName = (name: string): boolean =>
  name === 'best' || name === 'latest' || checkpointNameSchema.safeParse(name).success;

/** @param text RUN or RUN/NAME; absent: the best checkpoint of the run that was started last */
export async function chooseCheckpoint(store: Store, text?: string): Promise<CheckpointId> {
  const [run, name = 'best', ...rest] = text?.split('/') ?? [];
  if (run === '' || !isCheckpointName(name) || rest.length > 0)
    throw new GauntletError('BAD_INPUT', `checkpoint '${text}': write ${FORMS}`);
  return { runId: await chooseRun(store, run), name };
}
