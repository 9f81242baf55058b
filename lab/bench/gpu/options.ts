// Reads the command line of the GPU benchmark.
import type { MemoryKind } from '../../../ml/device/deviceSession.js';
import { FLAG, LabError, positive, readFlags, TEXT } from '../../flags.js';
import { SECTIONS, type SectionName } from './results.js';

export const USAGE = `npm run bench -- gpu [options]              on a machine with an NVIDIA card, after gauntlet setup cuda
npm run bench -- gpu --pack DIR             a folder for a machine with a card and no network
  --only NAMES        sections (comma-separated): ${SECTIONS.join(', ')}
  --force             repeat sections that are done for this commit and card
  --seconds N         time limit of all sections (default 1800)
  --venv DIR          a Python environment with torch (or GAUNTLET_BENCH_VENV); default: python3
  --out FILE          results as JSON (default .cache/bench/gpu.json)
  --commit ID         of a folder that is no checkout
  --small             two layers and few rows, to try the benchmark itself
  --device NAME       cuda (default), or cpu to try the benchmark itself
  --capability N      with --pack, of the card (default 90: H100, H200)`;

export interface GpuOptions {
  sections: readonly SectionName[];
  force: boolean;
  seconds: number;
  python: string;
  out?: string;
  commit?: string;
  small: boolean;
  device: MemoryKind;
  pack?: { folder: string; capability: number };
  help: boolean;
}

/** @throws {LabError} naming the flag */
export function parseGpuOptions(args: string[], env: NodeJS.ProcessEnv = process.env): GpuOptions {
  const values = readFlags(args, {
    ...{ force: FLAG, small: FLAG, help: FLAG, only: TEXT, seconds: TEXT, venv: TEXT, out: TEXT },
    ...{ commit: TEXT, device: TEXT, pack: TEXT, capability: TEXT },
  });
  const wanted = values.only?.split(',').map((name) => name.trim());
  const unknown = wanted?.find((name) => !SECTIONS.includes(name as SectionName));
  if (unknown !== undefined) throw new LabError(`--only ${unknown}: the sections are ${SECTIONS.join(', ')}`, 2);
  const { device = 'cuda' } = values;
  if (device !== 'cuda' && device !== 'cpu') throw new LabError(`--device must be cuda or cpu, is ${device}`, 2);
  if (values.capability !== undefined && values.pack === undefined) throw new LabError('--capability needs --pack', 2);
  const venv = values.venv ?? (env.GAUNTLET_BENCH_VENV || undefined);
  return {
    sections: SECTIONS.filter((name) => wanted?.includes(name) ?? true),
    force: values.force === true,
    seconds: positive('seconds', values.seconds ?? '1800'),
    python: venv === undefined ? 'python3' : `${venv}/bin/python`,
    small: values.small === true,
    device,
    help: values.help === true,
    ...(values.out !== undefined && { out: values.out }),
    ...(values.commit !== undefined && { commit: values.commit }),
    ...(values.pack !== undefined && {
      pack: { folder: values.pack, capability: positive('capability', values.capability ?? '90') },
    }),
  };
}
