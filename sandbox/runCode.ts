// Runs scripts as SandboxFusion's `POST /run_code` does: with standard input and files, for trainers that bring their own tests. The
// tests are then part of the script, so a program can forge their result.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { GauntletError } from '../core/base/errors.js';
import { type CallResult, LEAST_MEMORY_MB, type Limits, limitsSchema } from '../core/schema/execution.js';
import { ROOT } from '../infra/root.mjs';
import { parseRow, relativePath } from './programRows.js';
import type { RunOptions, Sandbox } from './sandbox.js';

const CODE = readFileSync(join(ROOT, 'sandbox/runCode.py'), 'utf8');

/** The fields of SandboxFusion's request, with its defaults. `compile_timeout` has no meaning for Python. */
const requestSchema = z.object({
  code: z.string(),
  language: z.literal('python', { error: 'only python runs here' }),
  stdin: z.string().nullish(),
  run_timeout: z.number().positive().default(10), // seconds
  memory_limit_MB: z.union([z.literal(-1), z.int().min(LEAST_MEMORY_MB)]).default(-1), // -1: the default of this server
  files: z.record(relativePath, z.base64().nullable()).default({}),
  fetch_files: z.array(relativePath).default([]),
});
export type CodeRequest = z.output<typeof requestSchema>;

/** @throws GauntletError BAD_INPUT naming the field */
export const parseCodeRequest = (body: unknown): CodeRequest => parseRow(requestSchema, body);

const answerSchema = z.tuple([
  z.int(),
  z.string(),
  z.string(),
  z.object({ f: z.coerce.number() }),
  z.array(z.tuple([z.string(), z.string()])),
]);

export interface CodeResponse {
  status: 'Success' | 'Failed';
  message: string;
  compile_result: null;
  run_result: {
    status: 'Finished' | 'TimeLimitExceeded';
    execution_time: number; // seconds
    return_code: number | null;
    stdout: string;
    stderr: string;
  };
  executor_pod_name: null;
  files: Record<string, string>; // in base64
}

/** @throws GauntletError SANDBOX_FAULT if the infrastructure failed, SANDBOX_UNAVAILABLE without Docker */
export async function runCode(
  { code, stdin, run_timeout: seconds, memory_limit_MB: asked, files, fetch_files: wanted }: CodeRequest,
  sandbox: Sandbox,
  { memoryMb, ...options }: RunOptions & Pick<Limits, 'memoryMb'>,
): Promise<CodeResponse> {
  if (sandbox.info.kind !== 'docker') throw new GauntletError('SANDBOX_UNAVAILABLE', '/run_code requires Docker');
  const given = Object.entries(files).flatMap(([name, data]) => (data === null ? [] : [[name, data]]));
  const limits = limitsSchema.parse({
    // a script that computes reaches its CPU limit first: one that reaches the other limit runs again, alone
    ...{ cpuSeconds: seconds, caseCpuSeconds: seconds, wallSeconds: seconds + 1 },
    memoryMb: asked > 0 ? asked : memoryMb,
  });
  const job = { id: 'code', code: CODE, entry: 'run_code', inputs: [[code, stdin ?? '', given, wanted]], limits };
  const [result] = await sandbox.run([job], options);
  return responseOf(result!.calls[0]!, result!.ms / 1000);
}

function responseOf(call: CallResult, seconds: number): CodeResponse {
  const response = (run: Partial<CodeResponse['run_result']>, files = {}): CodeResponse => ({
    status: run.return_code === 0 ? 'Success' : 'Failed',
    message: '',
    compile_result: null,
    run_result: { status: 'Finished', execution_time: seconds, return_code: 1, stdout: '', stderr: '', ...run },
    executor_pod_name: null,
    files,
  });
  if (call.kind === 'timeout') return response({ status: 'TimeLimitExceeded', return_code: null });
  if (call.kind !== 'value') return response({ stderr: call.message });
  const answer = answerSchema.safeParse(call.value);
  if (!answer.success) return response({ stderr: 'the script broke its own report' });
  const [return_code, stdout, stderr, { f: execution_time }, found] = answer.data;
  return response({ return_code, stdout, stderr, execution_time }, Object.fromEntries(found));
}
