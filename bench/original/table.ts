// The results of `bench original` as Markdown.
import type { describeMachine } from '../machine.js';
import type { EqualTime, Solved } from './equalTime.js';
import type { Update } from './ours.js';
import type { Updates } from './updates.js';

export interface OriginalResults extends Updates {
  command: string;
  startedAt: string;
  seconds: number;
  machine: ReturnType<typeof describeMachine>;
  equalTime: EqualTime;
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

export function originalMarkdown(results: OriginalResults): string {
  const { command, startedAt, seconds, machine } = results;
  return [
    `\`${command}\`, ${startedAt.slice(0, 10)}, ${Math.round(seconds)} s, ${machine.cpu}, ${machine.cores} cores, load ${machine.loadAtStart} before.`,
    '',
    '| role | trainer | an update | sampled tokens/s of whole updates | updates skipped | ratio |',
    '|---|---|---|---|---|---|',
    ...updateRows(results),
    '',
    '| trainer | peak memory of updates | trained for | solved before | solved after |',
    '|---|---|---|---|---|',
    ...timeRows(results),
  ].join('\n');
}

function updateRows({ updates }: OriginalResults): string[] {
  return (['generator', 'discriminator'] as const).flatMap((role) => {
    const [ours, original] = (['ours', 'original'] as const).map((name) =>
      figuresOf(updates.filter((update) => update.peer === name && update.role === role)),
    ) as [Figures, Figures];
    const row = (name: string, { perUpdate, perSecond, skipped }: Figures, ratio: string): string =>
      `| ${role} | ${name} | ${perUpdate.toFixed(1)} s | ${perSecond.toFixed(1)} | ${skipped} | ${ratio} |`;
    return [row('original', original, ''), row('ours', ours, `${(ours.perSecond / original.perSecond).toFixed(1)}×`)];
  });
}

function timeRows({ peakBytes, equalTime: { problems, ours, original } }: OriginalResults): string[] {
  const solved = (share: number): string => `${Math.round(share * problems)} of ${problems}`;
  const row = (name: string, bytes: number, { before, after, seconds }: Solved, updates = ''): string =>
    `| ${name} | ${(bytes / 2 ** 30).toFixed(1)} GiB | ${(seconds / 60).toFixed(1)} min${updates} | ${solved(before)} | ${solved(after)} |`;
  return [
    row('original', peakBytes.original, original, `, ${original.updates} updates`),
    row('ours', peakBytes.ours, ours),
  ];
}
