// Steering a run that goes on: `gauntlet pause`, `stop` and `set`; `resume` ends a pause. The same through Temporal's own
// command: `temporal workflow update execute --name pause --workflow-id ID`.
import type { WorkflowHandle } from '@temporalio/client';
import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import type { Command } from 'commander';
import type { Decision } from '../../core/control.js';
import { GauntletError } from '../../core/errors.js';
import { applyConfigPatch } from '../../core/liveConfig.js';
import { resolveConfig } from '../../core/presets.js';
import { openFileStore } from '../../store/fileStore.js';
import { parseAssignments } from '../config.js';
import { jsonOption } from '../options.js';
import { createOutput, note, type Output } from '../output.js';
import { type ConnectionOptions, hasPollers, openSession, type Session, statusOf, withStore } from '../session.js';

type Flags = ConnectionOptions & { json?: boolean };

/** Names of updates of trainFullPipeline, with their arguments. */
export type Ask =
  | { name: 'pause' | 'resume' | 'stop' }
  | { name: 'change'; fields: Record<string, unknown> }
  | { name: 'decide'; decision: Decision };

const QUIET_MS = 10_000; // the server lists a worker that died for a minute more

/** The run's one line of what will happen; says so where nobody answers for a while. @throws GauntletError BAD_INPUT with the line of a refusal */
export async function ask(handle: WorkflowHandle, asked: Ask): Promise<string> {
  const unheard = `no worker has answered for ${QUIET_MS / 1000} s: the run hears of it when one serves it (npx gauntlet up)`;
  const timer = setTimeout(note, QUIET_MS, unheard);
  try {
    if (asked.name === 'change')
      return await handle.executeUpdate<string, [object]>('change', { args: [asked.fields] });
    if (asked.name === 'decide')
      return await handle.executeUpdate<string, [Decision]>('decide', { args: [asked.decision] });
    return await handle.executeUpdate<string, []>(asked.name);
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError) throw new GauntletError('BAD_INPUT', lineOf(error));
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function lineOf(error: WorkflowUpdateFailedError): string {
  const cause = error.cause instanceof Error ? error.cause : error;
  return cause.message.split('\n')[0]!;
}

/** A run that goes on and is served, so that it can answer. @throws NOT_FOUND | BAD_INPUT | SERVER_UNAVAILABLE */
export async function servedRun(session: Session, id: string, store: string): Promise<WorkflowHandle> {
  const status = await statusOf(session.client, id);
  const resume = `npx gauntlet resume ${id}`;
  if (status === undefined) {
    const inStore = (await (await openFileStore(store)).listRuns()).includes(id);
    const way = inStore
      ? `only in the store: ${resume} starts it again`
      : 'nor in the store; list them with: npx gauntlet status';
    throw new GauntletError('NOT_FOUND', `no run '${id}' on this server, ${way}`);
  }
  if (status === 'PAUSED') {
    throw new GauntletError('BAD_INPUT', `run '${id}' is paused on the server and hears of nothing: first ${resume}`);
  }
  if (status !== 'RUNNING') {
    const way = status === 'COMPLETED' ? '' : `; ${resume} starts it again`;
    throw new GauntletError(
      'BAD_INPUT',
      `run '${id}' is ${status.toLowerCase().replaceAll('_', ' ')}: there is nothing to steer${way}`,
    );
  }
  if (!(await hasPollers(session.client))) {
    throw new GauntletError('SERVER_UNAVAILABLE', 'no worker serves runs, so none can answer: npx gauntlet up');
  }
  return session.client.workflow.getHandle(id);
}

async function tell(id: string, asked: Ask, flags: Flags, output: Output = createOutput(flags.json === true)) {
  const session = await openSession(flags, output, 'none');
  try {
    const said = await ask(await servedRun(session, id, flags.store), asked);
    const what = asked.name === 'change' ? `run '${id}': the change` : `run '${id}'`;
    output.result({ runId: id, asked: asked.name, said }, () => `${what} ${said}`);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) throw new GauntletError('NOT_FOUND', `run '${id}' has just ended`);
    throw error;
  } finally {
    await session.close();
  }
}

export function addControl(program: Command): void {
  const command = (name: string, description: string): Command =>
    withStore(
      program.command(name).description(description).argument('<run>', 'run id').addOption(jsonOption()),
      'server',
    );
  command('pause', 'pause a run after its current step').action((id: string, flags: Flags) =>
    tell(id, { name: 'pause' }, flags),
  );
  command('stop', 'end a run after its current step, with checkpoint, evaluation and report').action(
    (id: string, flags: Flags) => tell(id, { name: 'stop' }, flags),
  );
  command('set', 'change configuration fields of a run from its next step on')
    .argument('<field=value...>', 'docs/configuration.md lists the fields that can change')
    .action((id: string, assignments: string[], flags: Flags) => {
      const fields = parseAssignments(assignments, '');
      applyConfigPatch(resolveConfig(), fields); // reports a bad field even if no worker is running
      return tell(id, { name: 'change', fields }, flags);
    });
}
