// The server of `gauntlet sandbox serve`: judges programs for other trainers. A fault of the sandbox is a status that asks for another
// try, never a verdict. A client that leaves cancels its request.
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { GauntletError } from '../core/base/errors.js';
import { type Limits, runLimitsSchema } from '../core/schema/execution.js';
import {
  createAccess,
  limitConnections,
  patience,
  readBody,
  requestSignal,
  sendJson,
  urlOf,
} from '../infra/httpServer.js';
import { ROOT } from '../infra/root.mjs';
import { judgePrograms, judgeSources, type ProgramOutcome } from '../sandbox/judgePrograms.js';
import { MODES, parseProgramRow, parseSourceRow } from '../sandbox/programRows.js';
import { parseCodeRequest, runCode } from '../sandbox/runCode.js';
import type { RunOptions, Sandbox } from '../sandbox/sandbox.js';

export interface JudgeServerOptions {
  sandbox: Sandbox;
  host: string;
  queue: number; // how many requests may run or wait
  seconds: number; // the longest time of a request, its wait included, and the most wall-clock time of a program
  memoryMb: number; // the most memory of a program
  bodyBytes: number; // how many bytes the bodies of open requests may have together
  log: (line: string) => void;
}

const MAX_BODY = 16 << 20;
const BODY_SECONDS = 60; // the longest time in which a client may send a request
const MAX_CONNECTIONS = 1024;
const RETRY_AFTER_S = 2;
const HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
/** A fault at /run_code is 504, because verl asks again after this status only. */
const FAULT = { '/judge': 503, '/run_code': 504 } as const;
type Path = keyof typeof FAULT;

class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Creates the server for `host`. It has a token unless `host` is loopback. */
export function judgeServer(options: JudgeServerOptions): { server: Server; token: string | undefined } {
  const { queue, seconds, log, sandbox } = options;
  const access = createAccess(options.host, 'sandbox serve');
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const path of Object.keys(FAULT)) counts.set(faultsAt(path), 0); // so that the first fault is an increase
  let [open, held] = [0, 0]; // requests, and the bytes of their bodies

  const server = createServer(patience(BODY_SECONDS * 1000), (request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    answer(request, response).catch((error: unknown) => {
      if (!response.destroyed) sendError(response, error); // otherwise the client left
    });
  });
  limitConnections(server, MAX_CONNECTIONS);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refused = access.refusal(request);
    if (refused) throw new Refused(refused.status, refused.message);
    const path = urlOf(request).pathname;
    const route = `${request.method!.replace('HEAD', 'GET')} ${path}`;
    if (route === 'GET /health')
      return sendJson(response, 200, { status: 'ok', open, sandbox: sandbox.info.description });
    if (route === 'GET /metrics') return sendText(response, metricsText(counts, open));
    if (route === 'GET /client.py') return sendText(response, clientCode());
    if (route !== 'POST /judge' && route !== 'POST /run_code') throw new Refused(404, `there is no ${route}`);
    const bytes = Number(request.headers['content-length'] ?? MAX_BODY); // it is missing if the body comes in chunks
    if (bytes > MAX_BODY) throw new Refused(413, `the body has more than ${MAX_BODY} bytes`);
    if (open >= queue || (open > 0 && held + bytes > options.bodyBytes))
      throw new Refused(503, 'too many requests wait: try again');
    open++;
    held += bytes;
    try {
      sendJson(response, 200, await answerAt(path as Path, request, response));
    } catch (error) {
      if (isFault(error)) count(faultsAt(path));
      throw isFault(error) ? new Refused(FAULT[path as Path], `no verdict, try again: ${error.message}`) : error;
    } finally {
      open--;
      held -= bytes;
    }
  }

  async function answerAt(path: Path, request: IncomingMessage, response: ServerResponse): Promise<object> {
    const signal = requestSignal(response, seconds);
    const body = await readBody(request, MAX_BODY);
    if (body === undefined) throw new Refused(413, `the body has more than ${MAX_BODY} bytes`);
    if (path === '/run_code') {
      const asked = parseCodeRequest(parsed(body));
      checkLimits({ wallSeconds: asked.run_timeout, memoryMb: asked.memory_limit_MB }, options, CODE_FIELDS);
      const result = await runCode(asked, sandbox, { memoryMb: defaultsOf(options).memoryMb, signal });
      count(`gauntlet_scripts_total{status="${result.status}"}`);
      return result;
    }
    const outcome = await judged(parsed(body), options, { signal });
    count(`gauntlet_verdicts_total{outcome="${outcome.outcome}"}`);
    return outcome;
  }

  function sendError(response: ServerResponse, error: unknown): void {
    const { name, message } = error as Error;
    const status = error instanceof Refused ? error.status : statusOf(error, name);
    if (status >= 500) log(`a request failed: ${message}`);
    if (status === 503) response.setHeader('retry-after', RETRY_AFTER_S);
    if (status === 413) response.setHeader('connection', 'close'); // the rest of the body is not read
    sendJson(response, status, { error: status === 500 ? 'the server failed; its output says why' : message });
  }

  return { server, token: access.token };
}

/** Judges a row of `gauntlet sandbox run`; `id` and `mode` may be missing. */
async function judged(body: unknown, most: JudgeServerOptions, run: RunOptions): Promise<ProgramOutcome> {
  if (typeof body !== 'object' || body === null) throw new GauntletError('BAD_INPUT', 'the body is not a JSON object');
  const { mode, ...fields }: { mode?: unknown } = {
    mode: 'test_source' in body || 'files' in body ? 'assert' : 'values',
    ...body,
  };
  const known = MODES.find((one) => one === mode);
  if (known === undefined) throw new GauntletError('BAD_INPUT', `mode: choose ${MODES.join(', ')}`);
  const row = { id: 'program', ...fields };
  const options = { ...run, limits: defaultsOf(most) };
  if (known === 'values') {
    const program = parseProgramRow(row);
    checkLimits(program.limits, most);
    return (await judgePrograms([program], most.sandbox, options))[0]!;
  }
  const source = parseSourceRow(row, known);
  checkLimits(source.limits, most);
  return (await judgeSources([source], known, most.sandbox, options))[0]!;
}

/** The limits of a request that names none. */
function defaultsOf({ seconds, memoryMb }: JudgeServerOptions): Pick<Limits, 'wallSeconds' | 'memoryMb'> {
  const usual = runLimitsSchema.parse({});
  return { wallSeconds: Math.min(usual.wallSeconds, seconds), memoryMb: Math.min(usual.memoryMb, memoryMb) };
}

const CODE_FIELDS = { wallSeconds: 'run_timeout', memoryMb: 'memory_limit_MB' } as const;
const ROW_FIELDS = { wallSeconds: 'limits.wallSeconds', memoryMb: 'limits.memoryMb' } as const;

/** @throws GauntletError BAD_INPUT if a request asks for more than this server gives */
function checkLimits(
  asked: Partial<Limits> = {},
  { seconds, memoryMb }: JudgeServerOptions,
  fields: Record<keyof typeof ROW_FIELDS, string> = ROW_FIELDS,
): void {
  const refuse = (field: string, most: number, flag: string): never => {
    throw new GauntletError('BAD_INPUT', `${field}: at most ${most} here; start the server with a larger ${flag}`);
  };
  if ((asked.wallSeconds ?? 0) > seconds) refuse(fields.wallSeconds, seconds, '--timeout');
  if ((asked.memoryMb ?? 0) > memoryMb) refuse(fields.memoryMb, memoryMb, '--memory-mb');
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    throw new GauntletError('BAD_INPUT', 'the body is not JSON');
  }
}

const isFault = (error: unknown): error is GauntletError => error instanceof GauntletError && error.retryable;

function statusOf(error: unknown, name: string): number {
  if (name === 'TimeoutError') return 504;
  if (!(error instanceof GauntletError)) return 500;
  return error.code === 'SANDBOX_UNAVAILABLE' ? 501 : error.code === 'BAD_INPUT' ? 400 : 500;
}

const faultsAt = (path: string): string => `gauntlet_sandbox_faults_total{path="${path}"}`;

const metricsText = (counts: ReadonlyMap<string, number>, open: number): string =>
  [...counts, ['gauntlet_open_requests', open] as const].map(([name, value]) => `${name} ${value}\n`).join('');

const clientCode = (): string => readFileSync(join(ROOT, 'sandbox/gauntlet_judge.py'), 'utf8');

const sendText = (response: ServerResponse, text: string): void => {
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(text);
};
