// Describes the environment of programs in a sandbox: the backend, the version of Python and the packages.
import { GauntletError } from '../core/base/errors.js';
import type { Environment } from '../core/schema/environment.js';
import type { Sandbox } from './sandbox.js';

const LOOK = `
import sys
from importlib import metadata
def look():
  return [sys.version.split()[0], sorted({d.metadata['Name'] + '==' + d.version for d in metadata.distributions()})]
`;
const LIMITS = { cpuSeconds: 30, caseCpuSeconds: 30, wallSeconds: 60, memoryMb: 256, outputBytes: 1000 };

/** @throws GauntletError SANDBOX_FAULT */
export async function sandboxEnvironment(sandbox: Sandbox): Promise<Pick<Environment, 'facts' | 'details'>> {
  const job = { id: 'environment', code: LOOK, entry: 'look', inputs: [[]], limits: LIMITS };
  const [call] = (await sandbox.run([job]))[0]!.calls;
  if (call?.kind !== 'value' || !Array.isArray(call.value))
    throw new GauntletError('SANDBOX_FAULT', `the program that reads the version of Python failed: ${call?.kind}`);
  const [python, packages] = call.value as [string, string[]];
  const { kind, facts, details = {} } = sandbox.info;
  return { facts: { backend: kind, python, packages: packages.join(' ') || 'none', ...facts }, details };
}
