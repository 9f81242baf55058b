// Mutants of programs: copies with one small fault each. A test kills a mutant that it does not pass.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ExecutionJob, limitsSchema } from '../core/schema/execution.js';
import { ROOT } from '../infra/root.mjs';
import type { RunOptions, Sandbox } from './sandbox.js';

/** Large limits, because a slow machine must find the same mutants. */
const LIMITS = limitsSchema.parse({ cpuSeconds: 30, caseCpuSeconds: 30, wallSeconds: 60 });

/** Returns up to `limit` mutants of each program. The sandbox parses the programs; one that it cannot parse has none. */
export async function mutantsOf(
  sandbox: Sandbox,
  programs: readonly string[],
  limit: number,
  options?: RunOptions,
): Promise<string[][]> {
  if (programs.length === 0) return [];
  const code = readFileSync(join(ROOT, 'sandbox/mutate.py'), 'utf8');
  const jobs = programs.map((program, i): ExecutionJob => {
    return { id: `mutants:${i}`, code, entry: 'mutants', inputs: [[program, limit]], limits: LIMITS };
  });
  const results = await sandbox.run(jobs, options);
  return results.map(({ calls: [call] }) =>
    call?.kind === 'value' && Array.isArray(call.value) ? call.value.filter((text) => typeof text === 'string') : [],
  );
}
