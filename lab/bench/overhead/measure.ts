// One run of the command line: plain, watched (with traces and metrics, and its page open in a browser), or with its store
// in S3.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { choosePorts } from '../../../infra/ports.js';
import { startS3 } from '../../../test/support/s3Server.js';
import { openChromium } from '../../chromium.js';
import { firstAnswer, start, stop } from '../../commands.js';
import { childrenCpuSeconds, cpuSeconds } from '../cpuTime.js';
import { BenchError } from '../options.js';

const SCRAPE_MS = 10_000; // the default of Prometheus is a minute, that of its sample configuration 15 s

export const KINDS = ['watched', 's3'] as const;
export type Kind = (typeof KINDS)[number];

export interface RunOptions {
  folder: string; // of the store, unless it is in S3; a new one
  assignments: readonly string[]; // 'field=value'
  sandbox: string;
  say(line: string): void;
}

/** What the watchers received, to show that they were at work. */
export interface Received {
  traces: number; // requests with spans
  scrapes: number; // of metrics
  live: number; // requests of the page
}

/** CPU seconds from the command that starts the run until its result. */
export interface CpuFigures {
  run: number; // server and workers
  dashboard: number;
  browser: number;
}

export interface RunFigures {
  seconds: number; // from the command that starts the run until its result
  cpu: CpuFigures;
  received?: Received;
}

/** Runs the tiny preset with a server and workers of its own. */
export async function measureRun(options: RunOptions, kind: Kind | 'plain'): Promise<RunFigures> {
  const { folder, assignments, sandbox, say } = options;
  const isWatched = kind === 'watched';
  const received: Received = { traces: 0, scrapes: 0, live: 0 };
  const s3 = kind === 's3' ? await startS3() : undefined; // sets credentials
  const closing: (() => unknown)[] = s3 ? [s3.close] : [];
  const env: NodeJS.ProcessEnv = { ...process.env, GAUNTLET_LOG: 'error' };
  for (const name of Object.keys(env)) if (/^(OTEL_|TEMPORAL_)/.test(name)) delete env[name];
  try {
    const store = s3?.url() ?? folder;
    const watching: string[] = [];
    if (isWatched) {
      const collector = await startCollector(received);
      closing.push(collector.close);
      env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
      const { port } = await choosePorts(0, 0);
      watching.push('--metrics', `127.0.0.1:${port}`);
      const scraping = setInterval(() => {
        fetch(`http://127.0.0.1:${port}/metrics`).then(
          () => received.scrapes++,
          () => undefined, // not ready yet
        );
      }, SCRAPE_MS);
      closing.push(() => clearInterval(scraping));
    }
    const up = start(['up', '--store', store, '--port', '0', '--ui-port', '0', '--sandbox', sandbox, ...watching], env);
    closing.push(() => stop(up));
    await firstAnswer(up, 'up');
    const watchRun = isWatched ? await openPage(folder, env, received) : undefined; // before the clock starts
    if (watchRun) closing.push(watchRun.close);
    const cpuNow = (): CpuFigures => ({
      run: cpuSeconds(up.pid!),
      dashboard: watchRun ? cpuSeconds(watchRun.dashboard) : 0,
      browser: watchRun ? childrenCpuSeconds('chrom') : 0,
    });
    const before = cpuNow();
    const started = performance.now();
    const set = assignments.flatMap((assignment) => ['--set', assignment]);
    const train = start(['train', 'run', '--store', store, '--preset', 'tiny', '--watch', ...set], env);
    closing.push(() => stop(train));
    train.stdout!.resume();
    const ended = once(train, 'close');
    await watchRun?.show();
    const [code] = await ended;
    const seconds = (performance.now() - started) / 1000;
    const after = cpuNow();
    const cpu: CpuFigures = {
      run: after.run - before.run,
      dashboard: after.dashboard - before.dashboard,
      browser: after.browser - before.browser,
    };
    if (code !== 0) throw new BenchError(`gauntlet train ended with exit code ${code}`);
    const { traces, scrapes, live } = received;
    const seen = isWatched ? `, ${traces} requests with traces, ${scrapes} of metrics, ${live} of the page` : '';
    say(`${kind}: ${seconds.toFixed(1)} s${seen}`);
    return { seconds, cpu, ...(isWatched && { received }) };
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

interface OpenPage {
  dashboard: number; // process id
  show(): Promise<void>; // the page of the run, once it has started; the page follows it
  close(): Promise<void>;
}

/** Opens the list of runs. */
async function openPage(folder: string, env: NodeJS.ProcessEnv, received: Received): Promise<OpenPage> {
  const dashboard = start(['dashboard', '--store', folder], env);
  const browser = await openChromium();
  const close = async (): Promise<void> => {
    await browser.close();
    await stop(dashboard);
  };
  try {
    const { url } = await firstAnswer(dashboard, 'dashboard');
    const page = await browser.newPage();
    page.on('response', (response) => {
      if (response.ok() && response.url().includes('/api/live/')) received.live++;
    });
    await page.goto(url);
    const show = async (): Promise<void> => {
      // a page that finds no run looks again after ten seconds
      for (let i = 0; i < 100 && !(await fetch(`${url}api/runs/run`)).ok; i++) await sleep(200);
      await page.goto(`${url}#/runs/run`);
    };
    return { dashboard: dashboard.pid!, show, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A receiver of OTLP over HTTP that counts requests. */
async function startCollector(received: Received): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    received.traces++;
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}
