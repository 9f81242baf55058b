// `gauntlet schedule`: recurring training, as a Temporal schedule. By default each run starts at the best checkpoint of
// the earlier runs. `temporal schedule` manages the same schedules.
import {
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleHandle,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { GauntletError } from '../../core/base/errors.js';
import type { RunConfigInput } from '../../core/schema/config.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { checkRunId } from '../../store/checks.js';
import { readConfig } from '../input/config.js';
import { type ConfigFlags, jsonOption, withConfig } from '../input/options.js';
import { forCard } from '../run/card.js';
import { describeSchedule } from '../run/outage.js';
import { hasPollers, type Session, type SessionFlags, withSession, withStore } from '../run/session.js';
import { commandLine } from '../terminal/commandLine.js';
import { createOutput, type Output, tableText } from '../terminal/output.js';

/** When a schedule starts a run. */
export interface Timing {
  id: string;
  cron: string;
  timeZone: string;
  jitter: string;
  overlap: ScheduleOverlapPolicy;
  catchUp: string;
  pauseOnFailure: boolean;
}

interface Flags extends Timing, ConfigFlags, SessionFlags {
  fresh?: boolean;
}

const DURATION = /^\d+(s|m|h|d)$/;

function duration(text: string): string {
  if (DURATION.test(text)) return text;
  throw new InvalidArgumentError('It is not a duration such as 30s, 10m, 2h or 1d.');
}

function instant(text: string): Date {
  const date = new Date(text);
  if (Number.isFinite(date.getTime())) return date;
  throw new InvalidArgumentError('It is not a time such as 2026-01-31T02:00:00Z.');
}

/** Returns a time such as '2026-01-31 02:00 Europe/Berlin'. */
function inZone(time: Date, timeZone: string): string {
  try {
    return `${time.toLocaleString('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })} ${timeZone}`;
  } catch {
    return time.toISOString(); // the server knows more zones than Node, such as Local
  }
}

/** The input of every run of a schedule. */
export function scheduledInput(id: string, config: RunConfigInput, fresh: boolean): RunConfigInput {
  return {
    ...config,
    seedFromRun: true, // each run samples differently
    start: fresh ? null : (config.start ?? { run: `${id}-*`, checkpoint: 'best', schedule: 'whole' }),
    failure: { onFailure: 'fail', ...config.failure }, // a waiting run would block the next one
  };
}

/** @throws GauntletError NOT_FOUND if the schedule does not exist */
async function onServer<T>(flags: SessionFlags, output: Output, work: (session: Session) => Promise<T>): Promise<T> {
  return withSession(flags, output, 'none', work).catch((error: unknown) => {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
    throw new GauntletError(
      'NOT_FOUND',
      `no schedule '${error.scheduleId}': list them with ${commandLine('schedule list')}`,
    );
  });
}

const SCHEDULE = ['[schedule]', 'schedule id', 'nightly'] as const;

function addCreate(group: Command): void {
  const command = group
    .command('create')
    .description('create a schedule of training runs, each from the best checkpoint of the earlier ones')
    .argument(SCHEDULE[0], 'schedule id; its runs are named <schedule>-<time>', SCHEDULE[2])
    .option('--cron <expression>', 'when to start runs', '0 2 * * *')
    .option('--time-zone <name>', 'time zone of the expression, e.g. Europe/Berlin', 'UTC')
    .option('--jitter <time>', 'maximum random delay', duration, '0s')
    .addOption(
      new Option('--overlap <policy>', 'if the previous run is active: skip, queue one, or cancel it')
        .choices(['SKIP', 'BUFFER_ONE', 'CANCEL_OTHER'])
        .default('SKIP'),
    )
    .option('--catch-up <time>', 'catch-up window for missed starts', duration, '1d')
    .option('--no-pause-on-failure', 'start the next run even if one failed')
    .option('--fresh', 'start each run with new adapters');
  withStore(withConfig(command).addOption(jsonOption())).action(async (id: string, flags: Flags) => {
    const output = createOutput(flags.json);
    checkRunId(id);
    const input = scheduledInput(id, await forCard(await readConfig(flags), output.note), flags.fresh === true);
    await onServer(flags, output, async ({ client }) => {
      const next = await createSchedule(client, { ...flags, id }, input);
      if (!(await hasPollers(client))) output.note(`no worker serves runs yet: start one with ${commandLine('up')}`);
      output.result(
        { id, cron: flags.cron, timeZone: flags.timeZone, next: next?.toISOString() ?? 'never' },
        () => `schedule '${id}': next run ${next ? `at ${inZone(next, flags.timeZone)}` : 'never'}`,
      );
    });
  });
}

/** @returns the time of the first run. @throws GauntletError RUN_EXISTS | BAD_INPUT */
export async function createSchedule(client: Client, timing: Timing, input: RunConfigInput): Promise<Date | undefined> {
  const { id, cron } = timing;
  const commented = cron.includes('#') ? cron : `${cron} # ${cron}`; // the server keeps only the comment as it was written
  try {
    const handle = await client.schedule.create({
      scheduleId: id,
      spec: { cronExpressions: [commented], timezone: timing.timeZone, jitter: timing.jitter as '0s' },
      action: {
        type: 'startWorkflow',
        workflowType: 'trainFullPipeline',
        workflowId: id,
        taskQueue: TASK_QUEUES.orchestrator,
        args: [input],
      },
      policies: {
        overlap: timing.overlap,
        catchupWindow: timing.catchUp as '1d',
        pauseOnFailure: timing.pauseOnFailure,
      },
    });
    return (await describeSchedule(handle)).info.nextActionTimes[0];
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) {
      throw new GauntletError('RUN_EXISTS', `schedule '${id}' exists: choose another id, or delete it first`);
    }
    // the client throws it if the server rejects the specification
    if (error instanceof TypeError) throw new GauntletError('BAD_INPUT', `--cron or --time-zone: ${error.message}`);
    throw error;
  }
}

/** @param note a reason that a person gave, or a whole sentence of the server */
export const pausedText = (note: string): string => {
  if (note === '' || /^paused/i.test(note)) return note || 'paused';
  return `paused: ${note}`;
};

/** Applies the schedule's own overlap policy, so that the manual run counts like any other. */
async function trigger(schedule: ScheduleHandle): Promise<void> {
  const { scheduleId: id } = schedule;
  const { policies, info } = await describeSchedule(schedule);
  const [active] = info.runningActions.flatMap((action) => ('workflow' in action ? [action.workflow.workflowId] : []));
  if (active !== undefined && policies.overlap === ScheduleOverlapPolicy.SKIP) {
    const way = `wait for it, or end it: ${commandLine(`stop ${active}`)}`;
    throw new GauntletError('BAD_INPUT', `schedule '${id}' skips a start while run '${active}' is active: ${way}`);
  }
  await schedule.trigger(policies.overlap);
}

interface ListedSchedule {
  id: string;
  paused: boolean;
  note: string;
  next: string; // the time of the next run, or '-'
  timeZone: string;
  runs: string[]; // the ids of recent runs, the latest last
}

async function listSchedules(client: Client): Promise<ListedSchedule[]> {
  const found: ListedSchedule[] = [];
  for await (const { scheduleId, state, info, spec } of client.schedule.list()) {
    found.push({
      id: scheduleId,
      paused: state.paused,
      note: state.note ?? '',
      next: info.nextActionTimes[0]?.toISOString() ?? '-',
      timeZone: spec?.timezone || 'UTC',
      runs: info.recentActions.map(({ action }) => action.workflow.workflowId),
    });
  }
  return found;
}

async function showSchedule(client: Client, id: string) {
  const { spec, policies, state, info, action } = await describeSchedule(client.schedule.getHandle(id));
  const calendars = (spec.calendars ?? []).map(({ comment }) => comment);
  const intervals = (spec.intervals ?? []).map(({ every }) => `every ${every / 1000} s`);
  const described = commandLine(`temporal schedule describe --schedule-id ${id}`);
  const input = action.args?.[0] as RunConfigInput | undefined;
  return {
    id,
    state: state.paused ? pausedText(state.note ?? '') : 'active',
    cron: [...calendars, ...intervals].filter(Boolean).join('; ') || `not recorded; see: ${described}`,
    timeZone: spec.timezone || 'UTC',
    jitter: spec.jitter ?? 0, // ms
    overlap: policies.overlap,
    pauseOnFailure: policies.pauseOnFailure,
    next: info.nextActionTimes.slice(0, 3).map((time) => time.toISOString()),
    runs: info.recentActions.flatMap(({ action }) => ('workflow' in action ? [action.workflow.workflowId] : [])),
    preset: input?.preset ?? 'tiny',
    input,
  };
}

/** Adds a command that names one schedule. */
function commandForOne(group: Command, name: string, description: string): Command {
  const command = group
    .command(name)
    .description(description)
    .argument(...SCHEDULE);
  return withStore(command.addOption(jsonOption()), 'server');
}

function addList(group: Command): void {
  const command = group.command('list').description('list all schedules').addOption(jsonOption());
  withStore(command, 'server').action(async (flags: Flags) => {
    const output = createOutput(flags.json);
    const rows = await onServer(flags, output, ({ client }) => listSchedules(client));
    output.result(rows, () =>
      rows.length === 0
        ? `no schedule yet: create one with ${commandLine('schedule create')}`
        : tableText(
            ['schedule', 'next run', 'state', 'latest run'],
            rows.map(({ id, next, timeZone, paused, note, runs }) => [
              id,
              next === '-' ? next : inZone(new Date(next), timeZone),
              paused ? pausedText(note) : 'active',
              runs.at(-1) ?? '-',
            ]),
          ),
    );
  });
}

function addShow(group: Command): void {
  const command = commandForOne(group, 'show', 'show a schedule: times, policy, next and recent runs');
  command.action(async (id: string, flags: Flags) => {
    const output = createOutput(flags.json);
    const shown = await onServer(flags, output, ({ client }) => showSchedule(client, id));
    const next = shown.next.map((time) => inZone(new Date(time), shown.timeZone));
    output.result(shown, () =>
      Object.entries({ ...shown, next, input: JSON.stringify(shown.input) })
        .map(([field, value]) => `${field.padEnd(15)} ${Array.isArray(value) ? value.join(', ') || '–' : value}`)
        .join('\n'),
    );
  });
}

function addBackfill(group: Command): void {
  commandForOne(group, 'backfill', 'start the runs of a past period, one after the other')
    .requiredOption('--from <time>', 'start of the period, ISO 8601', instant)
    .requiredOption('--to <time>', 'end of the period, ISO 8601', instant)
    .action(async (id: string, flags: Flags & { from: Date; to: Date }) => {
      const output = createOutput(flags.json);
      const { from: start, to: end } = flags;
      const period = `${start.toISOString()} to ${end.toISOString()}`;
      if (end < start) throw new GauntletError('BAD_INPUT', `${period}: --to is before --from`);
      await onServer(flags, output, ({ client }) =>
        client.schedule.getHandle(id).backfill({ start, end, overlap: ScheduleOverlapPolicy.BUFFER_ALL }),
      );
      output.result({ id, done: 'backfill' }, () => `schedule '${id}' starts the runs of ${period}`);
    });
}

export function addSchedule(program: Command): void {
  const group = program.command('schedule').description('train on a schedule');
  addCreate(group);
  addList(group);
  addShow(group);
  const simple = (
    name: string,
    description: string,
    done: string,
    act: (schedule: ScheduleHandle) => Promise<unknown>,
  ): void => {
    commandForOne(group, name, description).action(async (id: string, flags: Flags) => {
      const output = createOutput(flags.json);
      await onServer(flags, output, ({ client }) => act(client.schedule.getHandle(id)));
      output.result({ id, done: name }, () => `schedule '${id}' ${done}`);
    });
  };
  simple('trigger', 'start a run now', 'starts a run, which `gauntlet status` lists', trigger);
  simple('pause', 'start no further runs', 'is paused', (schedule) => schedule.pause('by hand'));
  simple('resume', 'start runs again after a pause or a failed run', 'is active again', (schedule) =>
    schedule.unpause('by hand'),
  );
  simple('delete', 'delete a schedule; its runs stay', 'is deleted', (schedule) => schedule.delete());
  addBackfill(group);
}
