// What `up` and `worker` do when a run waits for a decision or fails: a line in the terminal, and the hook of --on-waiting.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { proxiedFetch } from '../../infra/proxy.js';
import type { Need } from '../../workers/attention.js';
import { commandLine } from '../terminal/commandLine.js';
import { describeError, type Output } from '../terminal/output.js';
import { attentionOf, commandAfter, reasonText, warningLine } from '../terminal/progress.js';

const LIMIT_MS = 10_000; // the longest time of one call of the hook

export const needText = (run: Need): string =>
  `run '${run.runId}' ${NEEDS[run.state] ?? 'waits for a decision'}: ${attentionOf(run)}`;
const NEEDS: Partial<Record<Need['state'], string>> = { failed: 'has failed', retrying: 'is retried' };

/** @param hook a URL or a command. A hook that fails twice is one warning; the run does not notice it. */
export function tellNeed({ note }: Pick<Output, 'note'>, hook?: string): (run: Need) => Promise<void> {
  return async (run) => {
    note(needText(run));
    if (hook === undefined) return;
    const call = (): Promise<void> => (isUrl(hook) ? post(hook, factsOf(run)) : execute(hook, factsOf(run)));
    await call()
      .catch(call)
      .catch((error: unknown) =>
        note(warningLine(`the hook of --on-waiting failed for run '${run.runId}': ${describeError(error)}`)),
      );
  };
}

export const isUrl = (hook: string): boolean => /^https?:\/\//i.test(hook);

function factsOf(run: Need) {
  const { runId, state, failure } = run;
  const reason = failure ? reasonText(failure) : '';
  const command =
    state === 'retrying'
      ? commandLine(`status ${runId}`)
      : commandAfter(runId, state === 'failed' ? failure?.code : undefined);
  return { run: runId, state, reason, command, text: needText(run) };
}

/** The address may contain a key, so no message names it. */
async function post(url: string, facts: object): Promise<void> {
  const response = await proxiedFetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(facts),
    redirect: 'error',
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the server answers ${response.status}`);
}

/** The facts are variables of the environment, because their text comes from elsewhere and a shell must not read it. */
async function execute(command: string, facts: Record<string, string>): Promise<void> {
  const env = { ...process.env };
  for (const [name, value] of Object.entries(facts)) env[`GAUNTLET_${name.toUpperCase()}`] = value.replaceAll('\0', '');
  const child = spawn(command, { shell: true, detached: true, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), LIMIT_MS);
  const [code, signal] = await once(child, 'exit').finally(() => clearTimeout(timer));
  if (code !== 0) throw new Error(signal === null ? `exit code ${code}` : `ended by ${signal}`);
}
