// Checkpoints that somebody is still to begin at: the inputs of runs that no worker has prepared yet, and of schedules.
// Nothing in a store speaks of these; once a run is prepared its manifest does.
import { type Client, ScheduleNotFoundError, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { GauntletError } from '../core/errors.js';
import { checkpointNameSchema } from '../core/schema/checkpoint.js';
import { inputOf } from './training.js';

/** Names of checkpoints; 'best' and 'latest' are no names. @throws GauntletError BAD_CONFIG where an input cannot be read */
export async function namedBeginnings(client: Client, openRuns: readonly string[]): Promise<Set<string>> {
  const names = new Set<string>();
  const add = async (what: string, read: () => Promise<unknown>): Promise<void> => {
    const name = beginningOf(await readable(what, read));
    if (name !== undefined) names.add(name);
  };
  for (const id of openRuns) await add(`run '${id}'`, () => inputOf(client, id));
  for await (const { scheduleId } of client.schedule.list()) {
    await add(`schedule '${scheduleId}'`, async () => {
      const { action } = await client.schedule.getHandle(scheduleId).describe();
      return action.args?.[0];
    });
  }
  return names;
}

/** Undefined where there is none of that name any more. */
async function readable(what: string, read: () => Promise<unknown>): Promise<unknown> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof ScheduleNotFoundError) return undefined;
    if (error instanceof ServiceError) throw error;
    const why = `${(error as Error).message.split('\n')[0]}: is GAUNTLET_CODEC_KEYS the file that it was started with?`;
    throw new GauntletError('BAD_CONFIG', `what ${what} begins at cannot be read: ${why}`, { cause: error });
  }
}

/** Of an input as anybody may have written it. */
function beginningOf(input: unknown): string | undefined {
  const { checkpoint } = (input as { start?: { checkpoint?: unknown } | null } | null | undefined)?.start ?? {};
  return checkpointNameSchema.safeParse(checkpoint).data;
}
