// Mutants of programs: copies with one small fault each. A test kills a mutant that it does not pass.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ExecutionJob, limitsSchema } from '../core/schema/execution.js';
import { ROOT } from '../infra/root.mjs';
import type { RunOptions, Sandbox } from './sandbox.js';

// a slow machine must find the same mutants
const LIMITS = limitsSchema.parse({ cpuSeconds: 30, caseCpuSeconds: 30, wallSeconds: 60 });

const source = (): string => readFileSync(join(ROOT, 'sandbox/mutate.py'), 'utf8');

/** Up to `limit` mutants of each program. Programs are parsed inside the sandbox, and have none if that fails. */
export async function mutantsOf(
  sandbox: Sandbox,
  programs: readonly string[],
  limit: number,
  options?: RunOptions,
): Promise<string[][]> {
  if (programs.length === 0) return [];
  const code = source();
  const jobs = programs.map(
    (program, i): ExecutionJob => ({
      id: `mutants:${i}`,
      code,
      entry: 'mutants',
      inputs: [[program, limit]],
      limits: LIMITS,
    }),
  );
  const results = await sandbox.run(jobs, options);
  return results.map(({ calls: [call] }) =>
    call?.kind === 'value' && Array.isArray(call.value) ? call.value.filter((text) => typeof text === 'string') : [],
  );
}
