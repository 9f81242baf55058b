// The process of an embedded server: its flags, and a shell guard that ends it when this process dies.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { GauntletError } from '../core/base/errors.js';
import { SEARCH_ATTRIBUTES } from '../core/temporal/searchAttributes.js';
import type { HiddenPorts } from './ports.js';

// Without these an empty activity takes 100 ms (two 50 ms ticks of the stock server) instead of 15 ms.
const TUNING = [
  ...['transferProcessorMaxPollRPS=2000', 'timerProcessorMaxPollRPS=2000', 'visibilityProcessorMaxPollRPS=500'].map(
    (value) => `history.${value}`,
  ),
  'system.enableActivityEagerExecution=true',
].flatMap((value) => ['--dynamic-config-value', value]);
const PRAGMAS = ['journal_mode=WAL', 'synchronous=NORMAL'].flatMap((value) => ['--sqlite-pragma', value]);

// Ends the server gracefully at a line on standard input. Kills it when the pipe breaks, because this process died: the
// next start must not find a server that is shutting down. Its database survives a kill. Without the trap, the guard itself
// would die of SIGPIPE if this process dies before it has read the line with the server's id.
export const GUARD = `
exec 3<&0
"$@" </dev/null >&2 3<&- &
server=$!
trap '' INT HUP PIPE
echo "$server"
exec >&-
( if read -r line <&3; then
    kill -TERM "$server" 2>/dev/null
    n=0; while kill -0 "$server" 2>/dev/null && [ $n -lt 80 ]; do sleep 0.1; n=$((n + 1)); done
  fi
  kill -KILL "$server" 2>/dev/null ) &
watch=$!
exec 3<&-
wait "$server"; code=$?
kill "$watch" 2>/dev/null
exit $code`;

/**
 * The HTTP API answers requests for hosts of a list only: one random name, which no page knows. The server has no Nexus
 * endpoints; without this value it accepts requests for some on the same port, whatever host they name.
 */
const withoutHttp = (): Record<string, string> => ({
  'frontend.httpAllowedHosts': `["${randomUUID()}.invalid"]`,
  'system.enableNexus': 'false',
});

/** The server puts the path into a URL. If the path has characters that change a URL, the server gets the file name only. */
export const databaseName = (path: string): string => (/[%#?]/.test(path) ? basename(path) : path);

export function serverArguments(
  port: number,
  { ui, metrics, http }: HiddenPorts,
  database: string,
  namespace: string,
  dynamicConfig: Record<string, string | number> = {},
): string[] {
  const attributes = Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => [
    '--search-attribute',
    `${name}=${type}`,
  ]);
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--db-filename', databaseName(database)],
    ...['--ui-ip', ui.host, '--ui-port', String(ui.port)],
    ...['--metrics-port', String(metrics), '--http-port', String(http)],
    ...['--log-level', 'warn', '--log-format', 'json', ...attributes, ...TUNING, ...PRAGMAS],
    ...Object.entries({ ...withoutHttp(), ...dynamicConfig }).flatMap(([name, value]) => [
      '--dynamic-config-value',
      `${name}=${value}`,
    ]),
    ...(namespace === 'default' ? [] : ['--namespace', namespace]),
  ];
}

/** Starts the server in the folder of its log. It has its own session, so that Ctrl-C does not reach it. */
export async function launch(
  cli: string,
  args: string[],
  logFile: string,
  given: Record<string, string | undefined>,
): Promise<{ child: ChildProcess; pid: number }> {
  const logTo = openSync(logFile, 'a');
  try {
    const env = { ...given } as NodeJS.ProcessEnv;
    const child = spawn('/bin/sh', ['-c', GUARD, 'gauntlet-temporal', cli, ...args], {
      env,
      cwd: dirname(logFile),
      detached: true,
      stdio: ['pipe', 'pipe', logTo],
    });
    const pid = await new Promise<number>((settle, fail) => {
      child.once('error', fail);
      child.stdout?.once('data', (line) => settle(Number(line)));
      child.once('exit', () => fail(new GauntletError('SERVER_UNAVAILABLE', 'the Temporal server did not start')));
    });
    // Neither the process nor its pipes keep this program alive: a program that forgets to close still exits.
    child.unref();
    for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { unref(): void } | null)?.unref();
    child.stdin?.on('error', () => {}); // the guard has exited
    return { child, pid };
  } finally {
    closeSync(logTo);
  }
}
