// MLflow: configuration and numbers of a run, sent to a tracking server over its REST API. MLflow's OTLP endpoint takes traces
// only, and its file format is being retired.
import { stripVTControlCharacters } from 'node:util';
import { z } from 'zod';
import { GauntletError } from '../../core/errors.js';
import { leaves } from '../../core/liveConfig.js';
import { charts } from '../../dashboard/data/charts.js';
import { proxiedFetch } from '../../infra/proxy.js';
import type { ExportedRun } from './exporter.js';
import { stepTimes } from './times.js';

const EXPERIMENT = 'gauntlet';
const TAG = 'gauntlet.run';
// limits of the server
const METRICS_PER_CALL = 1000;
const PARAMS_PER_CALL = 100;
const PARAM_LENGTH = 6000;
const TIMEOUT_MS = 60_000;

const experiment = z.object({ experiment_id: z.string() });
const experiments = z.object({ experiments: z.array(experiment).default([]) });
const runInfo = z.object({ info: z.object({ run_id: z.string() }) });
const createdRun = z.object({ run: runInfo });
const foundRuns = z.object({ runs: z.array(runInfo).default([]) });

/** Returns the address of the page of the new run. With `replace`, an earlier export of the run is deleted afterwards. */
export async function sendToMlflow(run: ExportedRun, address: string, replace: boolean): Promise<string> {
  const { id, records } = run;
  const call = openServer(address);
  const byName = { filter: `name = '${EXPERIMENT}'`, max_results: 1 };
  const [found] = (await call('experiments/search', byName, experiments)).experiments;
  const { experiment_id } = found ?? (await call('experiments/create', { name: EXPERIMENT }, experiment));
  const byTag = { experiment_ids: [experiment_id], filter: `tags.\`${TAG}\` = '${id}'` };
  const { runs: earlier } = await call('runs/search', byTag, foundRuns);
  if (earlier.length > 0 && !replace)
    throw new GauntletError('BAD_INPUT', `--out ${address}: it has run ${id} already; replace it with --overwrite`);

  const start_time = Math.round(run.startedAt);
  const tags = [{ key: TAG, value: id }];
  const created = await call('runs/create', { experiment_id, run_name: id, start_time, tags }, createdRun);
  const { run_id } = created.run.info;
  try {
    for (const params of chunks(paramsOf(records.config), PARAMS_PER_CALL))
      await call('runs/log-batch', { run_id, params });
    for (const metrics of chunks(metricsOf(run), METRICS_PER_CALL)) await call('runs/log-batch', { run_id, metrics });
    const end_time = Math.round(1000 * stepTimes(run)(Infinity));
    if (records.result) await call('runs/update', { run_id, status: 'FINISHED', end_time });
  } catch (error) {
    await call('runs/delete', { run_id }).catch(() => undefined);
    throw error;
  }
  for (const { info } of earlier) await call('runs/delete', { run_id: info.run_id });
  return `${withoutSlash(address)}/#/experiments/${experiment_id}/runs/${run_id}`;
}

/** The names are those of the export for TensorBoard: generator/step/reward. */
function metricsOf(run: ExportedRun) {
  const timeOf = stepTimes(run);
  return charts(run.records.metrics).flatMap(({ id, lines }) =>
    lines.flatMap(({ name, points }) =>
      points.map(({ step, value }) => ({
        key: `${name}/${id.replace('.', '/')}`,
        value,
        step,
        timestamp: Math.round(1000 * timeOf(step)),
      })),
    ),
  );
}

const paramsOf = (config: object) =>
  leaves(config as Record<string, unknown>).map(([key, value]) => ({
    key,
    value: (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, PARAM_LENGTH),
  }));

function* chunks<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let i = 0; i < items.length; i += size) yield items.slice(i, i + size);
}

const withoutSlash = (address: string): string => address.replace(/\/+$/, '');

/** Calls a method of the server and checks its answer. */
type Call = {
  (path: string, body: object): Promise<unknown>;
  <T>(path: string, body: object, schema: z.ZodType<T>): Promise<T>;
};

function openServer(address: string): Call {
  const fail = (reason: string): never => {
    const line = stripVTControlCharacters(reason).replace(/\s+/g, ' ').slice(0, 300);
    throw new GauntletError('BAD_INPUT', `--out ${address}: ${line}`);
  };
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    fail('mlflow needs the address of a tracking server, e.g. http://127.0.0.1:5000');
  const headers = { 'content-type': 'application/json', ...authorization() };
  return async (path: string, body: object, schema: z.ZodType = z.unknown()) => {
    const request = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(TIMEOUT_MS) };
    const response = await proxiedFetch(`${withoutSlash(address)}/api/2.0/mlflow/${path}`, request).catch(
      (error: Error) => {
        const { message, code } = (error.cause ?? error) as NodeJS.ErrnoException;
        return fail(`the server does not answer (${message || code})`);
      },
    );
    const answer: unknown = await response.json().catch(() => undefined);
    if (!response.ok) fail(`${path}: ${(answer as { message?: string } | undefined)?.message ?? response.status}`);
    const parsed = schema.safeParse(answer);
    return parsed.success ? parsed.data : fail(`${path}: this is not an answer of MLflow`);
  };
}

/** The variables that MLflow's own clients read. */
function authorization(): Record<string, string> {
  const {
    MLFLOW_TRACKING_TOKEN: token,
    MLFLOW_TRACKING_USERNAME: user,
    MLFLOW_TRACKING_PASSWORD: password,
  } = process.env;
  if (token) return { authorization: `Bearer ${token}` };
  if (!user) return {};
  return { authorization: `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}` };
}
