// The results of the GPU benchmark in one file. It is rewritten after every measurement, so that a later run can continue.
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { table } from '../../table.js';
import type { Machine } from '../machine.js';
import { saveJson } from '../results.js';

/** The sections in the order in which they run: the most important ones run first. */
export const SECTIONS = ['check', 'step', 'train', 'generate', 'torch', 'profile'] as const;
export type SectionName = (typeof SECTIONS)[number];

/** A line of a section. `skipped` or `failed` says why there are no figures. */
export interface Measurement {
  case: string;
  skipped?: string;
  failed?: string;
  [figure: string]: number | string | boolean | undefined;
}

export interface SectionResult {
  status: 'running' | 'done' | 'failed' | 'timeout' | 'skipped';
  reason?: string; // set unless the section is done
  seconds: number;
  measurements: Measurement[];
}

/** Everything that the figures depend on. A file contains only figures with the same identity. */
export interface Identity {
  commit: string;
  card: string; // the name, memory and driver of the card
  runtime: string; // the version of ONNX Runtime
  small: boolean;
}

export interface GpuResults {
  identity: Identity;
  command: string;
  startedAt: string;
  machine: Machine;
  versions: Record<string, string>;
  sections: Partial<Record<SectionName, SectionResult>>;
  targets: { target: string; measured: string; met: string }[];
}

/** The results of an earlier run, unless its commit, card or runtime differs or its checkout had changes. */
export function earlierResults(file: string, identity: Identity): Pick<GpuResults, 'sections' | 'versions'> {
  const nothing = { sections: {}, versions: {} };
  if (!existsSync(file) || /^unknown$|-dirty$/.test(identity.commit)) return nothing;
  const earlier = JSON.parse(readFileSync(file, 'utf8')) as GpuResults;
  const keys = Object.keys(identity) as (keyof Identity)[];
  return keys.every((key) => earlier.identity[key] === identity[key]) ? earlier : nothing;
}

/** The sections that must run: those that are not done, or all sections with `force`. */
export const pending = (wanted: readonly SectionName[], sections: GpuResults['sections'], force: boolean) =>
  wanted.filter((name) => force || sections[name]?.status !== 'done');

/** Replaces the file atomically, so that it is complete whenever the benchmark is stopped. */
export function saveResults(file: string, results: GpuResults): void {
  saveJson(`${file}.part`, results);
  renameSync(`${file}.part`, file);
}

/** Describes the machine and the measurements, and adds the table of targets. */
export function printed({ identity, versions, sections, targets }: GpuResults): string {
  const about = { card: identity.card, commit: identity.commit, onnxruntime: identity.runtime, ...versions };
  const states = SECTIONS.flatMap((name) => (sections[name] ? [`${name}: ${sections[name].status}`] : []));
  const rows = targets.map(({ target, measured, met }) => [target, measured, met]);
  return [
    Object.entries(about)
      .map(([name, value]) => `${name} ${value}`)
      .join(', '),
    states.join(', '),
    table(['target', 'measured', 'met'], rows),
  ].join('\n\n');
}
