// A histogram whose bars are buttons: a bar chooses its range of values, the chosen bar again chooses all.
import { decimal } from '../format.js';

export interface Range {
  from: number;
  to: number;
  isLast: boolean; // the last bin contains its upper bound
}

interface Bin extends Range {
  count: number;
}

const BINS = 16;

export const isWithin = (value: number, range: Range | undefined): boolean =>
  range === undefined || (value >= range.from && (value < range.to || (range.isLast && value <= range.to)));

export function bins(values: readonly number[]): Bin[] {
  if (values.length === 0) return [];
  const least = values.reduce((a, b) => Math.min(a, b));
  const most = values.reduce((a, b) => Math.max(a, b));
  if (least === most) return [{ from: least, to: most, isLast: true, count: values.length }];
  const width = (most - least) / BINS;
  const found = Array.from({ length: BINS }, (_, i): Bin => {
    const isLast = i === BINS - 1;
    return { from: least + i * width, to: isLast ? most : least + (i + 1) * width, isLast, count: 0 };
  });
  for (const value of values) found.find((bin) => isWithin(value, bin))!.count++;
  return found;
}

interface Props {
  bins: Bin[];
  chosen: Range | undefined;
  onChoose: (range: Range | undefined) => void;
}

export function Histogram({ bins: shown, chosen, onChoose }: Props) {
  const most = Math.max(1, ...shown.map(({ count }) => count));
  return (
    <fieldset class="histogram">
      <legend class="muted">Click a bar to see only the samples with such a reward.</legend>
      {shown.map((bin) => {
        const isChosen = chosen?.from === bin.from;
        const text = `${bin.count} samples with a reward from ${decimal(bin.from)} to ${decimal(bin.to)}`;
        return (
          <button
            key={bin.from}
            type="button"
            class="plain"
            aria-pressed={isChosen}
            title={text}
            disabled={bin.count === 0}
            onClick={() => onChoose(isChosen ? undefined : bin)}
          >
            <span class="count">{bin.count === 0 ? '' : bin.count}</span>
            <span class="unseen"> samples with a reward from </span>
            <span class="column" style={{ height: `${(100 * bin.count) / most}px` }} />
            <span class="from">{decimal(bin.from, 2)}</span>
            <span class="unseen"> to {decimal(bin.to)}</span>
          </button>
        );
      })}
    </fieldset>
  );
}
