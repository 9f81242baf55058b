// The results of `bench original` as Markdown.
import type { Role } from '../../core/schema/chain.js';
import type { describeMachine } from '../machine.js';
import type { Update } from './ours.js';

type Name = 'ours' | 'original';

export interface OriginalResults {
  command: string;
  startedAt: string;
  seconds: number;
  machine: ReturnType<typeof describeMachine>;
  updates: (Update & { peer: Name; role: Role })[];
  peakBytes: Partial<Record<Name, number>>;
}

interface Figures {
  perUpdate: number; // seconds
  perSecond: number; // sampled tokens of whole updates
  skipped: number;
}

export function figuresOf(updates: readonly Update[]): Figures {
  const sum = (of: (update: Update) => number): number => updates.reduce((total, update) => total + of(update), 0);
  const seconds = sum((update) => update.seconds);
  return {
    perUpdate: seconds / updates.length,
    perSecond: sum(({ tokens }) => tokens) / seconds,
    skipped: updates.filter(({ updated }) => !updated).length,
  };
}

export function originalMarkdown({
  command,
  startedAt,
  seconds,
  machine,
  updates,
  peakBytes,
}: OriginalResults): string {
  const rows = (['generator', 'discriminator'] as const).flatMap((role) => {
    const [ours, original] = (['ours', 'original'] as const).map((name) =>
      figuresOf(updates.filter((update) => update.peer === name && update.role === role)),
    ) as [Figures, Figures];
    const row = (name: string, { perUpdate, perSecond, skipped }: Figures, ratio: string): string =>
      `| ${role} | ${name} | ${perUpdate.toFixed(1)} s | ${perSecond.toFixed(1)} | ${skipped} | ${ratio} |`;
    return [row('original', original, ''), row('ours', ours, `${(ours.perSecond / original.perSecond).toFixed(1)}×`)];
  });
  const memory = (name: Name): string => `${((peakBytes[name] ?? Number.NaN) / 2 ** 30).toFixed(1)} GiB`;
  return [
    `\`${command}\`, ${startedAt.slice(0, 10)}, ${Math.round(seconds)} s, ${machine.cpu}, ${machine.cores} cores, load ${machine.loadAtStart} before.`,
    '',
    '| role | trainer | an update | sampled tokens/s of whole updates | updates skipped | ratio |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    `Peak memory: original ${memory('original')}, ours ${memory('ours')}.`,
  ].join('\n');
}
