// The contenders: this sandbox with its backends and modes, and simple schemes for comparison.
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { scriptArguments } from '../../../infra/scripts.js';
import type { Mode } from '../../../sandbox/programRows.js';
import type { OpenSandboxOptions } from '../../../workers/openSandbox.js';
import { Peer } from '../peers/peer.js';

type Ours = { backend: 'docker' | 'wasm'; mode: Mode; options: OpenSandboxOptions };
type Theirs = { scheme: 'bare' | 'multiprocessing' | 'pytest' };

export const CONTENDERS = {
  docker: { backend: 'docker', mode: 'values', options: {} },
  'docker, strict': { backend: 'docker', mode: 'values', options: { isolation: 'strict' } },
  'docker, assert': { backend: 'docker', mode: 'assert', options: {} },
  'docker, pytest': { backend: 'docker', mode: 'pytest', options: {} },
  wasm: { backend: 'wasm', mode: 'values', options: {} },
  'python3 -c': { scheme: 'bare' },
  multiprocessing: { scheme: 'multiprocessing' },
  'pytest subprocess': { scheme: 'pytest' },
} as const satisfies Record<string, Ours | Theirs>;
export type Contender = keyof typeof CONTENDERS;

/** How many times as fast the default must be, with one execution in flight. */
export const GOALS: Partial<Record<Contender, number>> = {
  'python3 -c': 5,
  multiprocessing: 5,
  'pytest subprocess': 5,
};

/** @param python an interpreter with pytest */
export function startContender(name: Contender, python: string): Peer {
  const contender: Ours | Theirs = CONTENDERS[name];
  if ('scheme' in contender)
    return Peer.start(name, python, [join(ROOT, 'lab', 'bench', 'peers', 'execution_peer.py'), contender.scheme]);
  const { backend, mode, options } = contender;
  const script = scriptArguments(new URL('../peers/sandboxPeer.js', import.meta.url));
  return Peer.start(name, process.execPath, [...script, backend, mode, JSON.stringify(options)]);
}
