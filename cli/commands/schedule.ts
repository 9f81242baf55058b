// `gauntlet schedule`: training by the clock, as a Temporal schedule. Each run trains on from the best checkpoint of the
// runs before it. `temporal schedule` sees and steers the same schedules.
import { type Client, ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import { type Command, Option } from 'commander';
import { GauntletError } from '../../core/errors.js';
import { TASK_QUEUES } from '../../core/queues.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { checkRunId } from '../../store/checks.js';
import { type ConfigFlags, readConfig, withConfig } from '../config.js';
import { createOutput, type Output, tableText } from '../output.js';
import { type ConnectionOptions, hasPollers, openSession, type Session, withStore } from '../session.js';

/** When a schedule starts a run, and when it does not. */
export interface Timing {
  id: string;
  cron: string;
  timeZone: string;
  jitter: string;
  overlap: ScheduleOverlapPolicy;
  catchUp: string;
  pauseOnFailure: boolean;
}

interface Flags extends Timing, ConfigFlags, ConnectionOptions {
  fresh?: boolean;
  json?: boolean;
}

const DURATION = /^\d+(s|m|h|d)$/;

function duration(name: string): (text: string) => string {
  return (text) => {
    if (DURATION.test(text)) return text;
    throw new GauntletError('BAD_INPUT', `${name}: '${text}' is no duration, e.g. 30s, 10m, 2h or 1d`);
  };
}

/** What every run of a schedule is started with. */
export function scheduledInput(id: string, config: RunConfigInput, fresh: boolean): RunConfigInput {
  return {
    ...config,
    seedFromRun: true, // each night draws anew
    ...(fresh ? {} : { start: { run: `${id}-*`, checkpoint: 'best', schedule: 'whole' } }),
    failure: { onFailure: 'fail', ...config.failure }, // one that waits would hold the next one back
  };
}

async function within<T>(flags: ConnectionOptions, output: Output, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await openSession(flags, output, 'none');
  try {
    return await work(session);
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) {
      throw new GauntletError('NOT_FOUND', `no schedule '${error.scheduleId}': npx gauntlet schedule list`);
    }
    throw error;
  } finally {
    await session.close();
  }
}

function addNightly(group: Command): void {
  const command = group
    .command('nightly')
    .description('train by the clock, each run from the best checkpoint of those before it')
    .option('--id <id>', 'of the schedule; its runs are called <id>-<time>', 'nightly')
    .option('--cron <expression>', 'when', '0 2 * * *')
    .option('--time-zone <name>', 'of the expression, e.g. Europe/Berlin', 'UTC')
    .addOption(new Option('--jitter <time>', 'start up to so much later').argParser(duration('--jitter')).default('0s'))
    .addOption(
      new Option('--overlap <policy>', 'when the run before goes on: leave one out, do it after, end that one')
        .choices(['SKIP', 'BUFFER_ONE', 'CANCEL_OTHER'])
        .default('SKIP'),
    )
    .addOption(
      new Option('--catch-up <time>', 'starts missed while the server was down are made up for so long')
        .argParser(duration('--catch-up'))
        .default('1d'),
    )
    .option('--no-pause-on-failure', 'start the next run although one failed')
    .option('--fresh', 'begin each run at fresh adapters')
    .option('--json', 'one line of JSON');
  withStore(withConfig(command)).action(async (flags: Flags) => {
    const output = createOutput(flags.json === true);
    checkRunId(flags.id);
    const input = scheduledInput(flags.id, await readConfig(flags), flags.fresh === true);
    await within(flags, output, async ({ client }) => {
      const next = (await createSchedule(client, flags, input))?.toISOString() ?? 'never';
      if (!(await hasPollers(client))) output.note('no worker serves runs yet: npx gauntlet up');
      output.result(
        { id: flags.id, cron: flags.cron, timeZone: flags.timeZone, next },
        () => `schedule '${flags.id}': next run at ${next}`,
      );
    });
  });
}

/** @returns the time of its first run. @throws GauntletError RUN_EXISTS | BAD_INPUT */
export async function createSchedule(client: Client, flags: Timing, input: RunConfigInput): Promise<Date | undefined> {
  try {
    const handle = await client.schedule.create({
      scheduleId: flags.id,
      spec: { cronExpressions: [flags.cron], timezone: flags.timeZone, jitter: flags.jitter as '0s' },
      action: {
        type: 'startWorkflow',
        workflowType: 'trainFullPipeline',
        workflowId: flags.id,
        taskQueue: TASK_QUEUES.orchestrator,
        args: [input],
      },
      policies: {
        overlap: flags.overlap,
        catchupWindow: flags.catchUp as '1d',
        pauseOnFailure: flags.pauseOnFailure,
      },
    });
    return (await handle.describe()).info.nextActionTimes[0];
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) {
      throw new GauntletError('RUN_EXISTS', `schedule '${flags.id}' exists: choose another --id, or delete it first`);
    }
    // the client's word for a specification that the server refuses
    if (error instanceof TypeError) throw new GauntletError('BAD_INPUT', `--cron or --time-zone: ${error.message}`);
    throw error;
  }
}

/** The note is somebody's reason, or the server's whole sentence. */
export const pausedText = (note: string): string => {
  if (note === '' || /^paused/i.test(note)) return note || 'paused';
  return `paused: ${note}`;
};

/** By the schedule's own policy: one that was started beside it would not hold the next one back. */
async function trigger(client: Client, id: string): Promise<void> {
  const schedule = client.schedule.getHandle(id);
  const { policies, info } = await schedule.describe();
  const [going] = info.runningActions.flatMap((action) => ('workflow' in action ? [action.workflow.workflowId] : []));
  if (going !== undefined && policies.overlap === ScheduleOverlapPolicy.SKIP) {
    const way = `wait for it, or end it: npx gauntlet stop ${going}`;
    throw new GauntletError('BAD_INPUT', `schedule '${id}' leaves a start out while a run goes on: ${way}`);
  }
  await schedule.trigger(policies.overlap);
}

export function addSchedule(program: Command): void {
  const group = program.command('schedule').description('train by the clock');
  addNightly(group);
  const one = (name: string, description: string): Command =>
    withStore(
      group
        .command(name)
        .description(description)
        .argument('[id]', 'schedule', 'nightly')
        .option('--json', 'one line of JSON'),
      'a server',
    );
  const simple = (
    name: string,
    description: string,
    said: string,
    act: (session: Session, id: string) => Promise<void>,
  ): void => {
    one(name, description).action(async (id: string, flags: Flags) => {
      const output = createOutput(flags.json === true);
      await within(flags, output, (session) => act(session, id));
      output.result({ id, done: name }, () => `schedule '${id}' ${said}`);
    });
  };
  withStore(group.command('list').description('all schedules').option('--json', 'one line of JSON'), 'a server').action(
    async (flags: Flags) => {
      const output = createOutput(flags.json === true);
      const rows = await within(flags, output, async ({ client }) => {
        const found: { id: string; paused: boolean; note: string; next: string; runs: string[] }[] = [];
        for await (const { scheduleId, state, info } of client.schedule.list()) {
          found.push({
            id: scheduleId,
            paused: state.paused,
            note: state.note ?? '',
            next: info.nextActionTimes[0]?.toISOString() ?? '-',
            runs: info.recentActions.map(({ action }) => action.workflow.workflowId),
          });
        }
        return found;
      });
      output.result(rows, () =>
        rows.length === 0
          ? 'no schedule yet: npx gauntlet schedule nightly'
          : tableText(
              ['schedule', 'next run', 'state', 'latest run'],
              rows.map(({ id, next, paused, note, runs }) => [
                id,
                next,
                paused ? pausedText(note) : 'active',
                runs.at(-1) ?? '-',
              ]),
            ),
      );
    },
  );
  simple('trigger', 'start a run of it now', 'starts a run; see it with: npx gauntlet status', ({ client }, id) =>
    trigger(client, id),
  );
  simple('pause', 'start no further run', 'is paused', ({ client }, id) =>
    client.schedule.getHandle(id).pause('by hand'),
  );
  simple('unpause', 'go on after a pause, or after a run that failed', 'is active again', ({ client }, id) =>
    client.schedule.getHandle(id).unpause('by hand'),
  );
  simple('delete', 'end it; its runs stay', 'is deleted', ({ client }, id) => client.schedule.getHandle(id).delete());
  one('backfill', 'make up for the starts of a past time, one after the other')
    .requiredOption('--from <time>', 'ISO 8601')
    .requiredOption('--to <time>', 'ISO 8601')
    .action(async (id: string, flags: Flags & { from: string; to: string }) => {
      const output = createOutput(flags.json === true);
      const [start, end] = [instant('--from', flags.from), instant('--to', flags.to)];
      if (end < start) throw new GauntletError('BAD_INPUT', `--to ${flags.to}: is before --from ${flags.from}`);
      await within(flags, output, ({ client }) =>
        client.schedule.getHandle(id).backfill({ start, end, overlap: ScheduleOverlapPolicy.BUFFER_ALL }),
      );
      output.result({ id, done: 'backfill' }, () => `schedule '${id}' makes up for ${flags.from} to ${flags.to}`);
    });
}

function instant(name: string, text: string): Date {
  const date = new Date(text);
  if (Number.isFinite(date.getTime())) return date;
  throw new GauntletError('BAD_INPUT', `${name}: '${text}' is no time, e.g. 2026-01-31T02:00:00Z`);
}
