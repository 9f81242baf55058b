// The targets that a card must reach. The times are for an H100 or a faster card.
import type { GpuResults, Measurement, SectionName } from './results.js';

interface Target {
  section: SectionName;
  case: string;
  figure: string;
  most?: number;
  least?: number;
  peer?: true; // the figure of torch divided by ours must be above 1
}

const SMOLLM2_SAMPLING = 'SmolLM2-135M 64 x 64 tokens';
const SMOLLM2_GRADIENT = 'gradient SmolLM2-135M';

export const TARGETS: readonly Target[] = [
  { section: 'generate', case: `f32 ${SMOLLM2_SAMPLING}`, figure: 'seconds', most: 0.2 },
  { section: 'generate', case: `f16 ${SMOLLM2_SAMPLING}`, figure: 'seconds', most: 0.12 },
  { section: 'train', case: `f32 ${SMOLLM2_GRADIENT}`, figure: 'seconds', most: 0.45 },
  { section: 'train', case: `f16 ${SMOLLM2_GRADIENT}`, figure: 'seconds', most: 0.15 },
  { section: 'generate', case: `f32 ${SMOLLM2_SAMPLING}`, figure: 'seconds', peer: true },
  { section: 'generate', case: `f16 ${SMOLLM2_SAMPLING}`, figure: 'seconds', peer: true },
  { section: 'train', case: `f32 ${SMOLLM2_GRADIENT}`, figure: 'seconds', peer: true },
  { section: 'train', case: `f16 ${SMOLLM2_GRADIENT}`, figure: 'seconds', peer: true },
  { section: 'step', case: 'float16 Qwen2.5-1.5B 64 rows, rank 16', figure: 'tokensPerSecond', least: 25_000 },
  { section: 'train', case: 'f16 gradient Qwen2.5-1.5B', figure: 'seconds', most: 0.6 },
  { section: 'train', case: 'f16 gradient Qwen2.5-1.5B', figure: 'usedGigabytes', most: 12 },
  { section: 'step', case: 'float16 Qwen2.5-7B 64 rows, rank 16', figure: 'tokensPerSecond', least: 8_000 },
];

/** Makes the table of targets. Its first line summarises all checks. Small sizes have no meaningful figures. */
export function judge(sections: GpuResults['sections'], small: boolean): GpuResults['targets'] {
  const find = (section: SectionName, name: string): Measurement | undefined =>
    sections[section]?.measurements.find((each) => each.case === name);
  const numeric = TARGETS.map(({ section, case: name, figure, most, least, peer }) => {
    const ours = find(section, name)?.[figure];
    const theirs = peer && find('torch', name)?.[figure];
    const bound = peer ? 'ahead of torch' : most === undefined ? `${figure} ≥ ${least}` : `${figure} ≤ ${most}`;
    const target = `${name}: ${bound}`;
    if (small || typeof ours !== 'number' || (peer && typeof theirs !== 'number'))
      return { target, measured: '–', met: 'not measured' };
    const value = typeof theirs === 'number' ? theirs / ours : ours;
    const met = peer ? value > 1 : value <= (most ?? Infinity) && value >= (least ?? 0);
    return { target, measured: peer ? `${value.toFixed(2)}×` : String(ours), met: met ? 'yes' : 'NO' };
  });
  return [judgeChecks(sections.check), ...numeric];
}

function judgeChecks(check: GpuResults['sections']['check']): GpuResults['targets'][number] {
  const target = 'the device computes what the CPU computes, and rows do not depend on their neighbours';
  const wrong = check?.measurements.filter(({ holds }) => holds !== true) ?? [];
  const isWhole = check?.status === 'done' || check?.status === 'failed';
  if (!check || (wrong.length === 0 && !isWhole)) return { target, measured: '–', met: 'not measured' };
  const holds = wrong.length === 0 && check.status === 'done';
  return { target, measured: wrong.map((each) => each.case).join('; ') || 'all checks', met: holds ? 'yes' : 'NO' };
}
