// Checkpoints at which a run will start: named in the inputs of runs that no worker has prepared yet, and of schedules.
// The store does not know them until the manifest of the prepared run names them.
import { type Client, ScheduleNotFoundError, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { GauntletError } from '../../core/errors.js';
import { checkpointNameSchema } from '../../core/schema/checkpoint.js';
import { describeSchedule } from './outage.js';
import { inputOf } from './training.js';

/** Names of checkpoints, without 'best' and 'latest'. @throws GauntletError BAD_CONFIG if an input cannot be read */
export async function startCheckpoints(client: Client, openRuns: readonly string[]): Promise<Set<string>> {
  const names = new Set<string>();
  const add = async (what: string, read: () => Promise<unknown>): Promise<void> => {
    const name = checkpointIn(await readable(what, read));
    if (name !== undefined) names.add(name);
  };
  for (const id of openRuns) await add(`run '${id}'`, () => inputOf(client, id));
  for await (const { scheduleId } of client.schedule.list()) {
    await add(`schedule '${scheduleId}'`, async () => {
      const { action } = await describeSchedule(client.schedule.getHandle(scheduleId));
      return action.args?.[0];
    });
  }
  return names;
}

/** Undefined if it no longer exists. */
async function readable(what: string, read: () => Promise<unknown>): Promise<unknown> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof ScheduleNotFoundError) return undefined;
    if (error instanceof ServiceError) throw error;
    const why = `${(error as Error).message.split('\n')[0]}: is GAUNTLET_CODEC_KEYS the file that it was started with?`;
    throw new GauntletError('BAD_CONFIG', `the start of ${what} cannot be read: ${why}`, { cause: error });
  }
}

/** The input is untrusted. */
function checkpointIn(input: unknown): string | undefined {
  const { checkpoint } = (input as { start?: { checkpoint?: unknown } | null } | null | undefined)?.start ?? {};
  return checkpointNameSchema.safeParse(checkpoint).data;
}
