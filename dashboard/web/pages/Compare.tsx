// Chooses two parts of a run to compare: phases, or epochs that ended with a checkpoint.
import { useState } from 'preact/hooks';
import type { RunView } from '../../api.js';
import { stageName } from '../format.js';
import { link } from '../route.js';

export function Compare({ view }: { view: RunView }) {
  const phases = view.bands
    .filter(({ done }) => done > 0)
    .map(({ stage, phase, start, done }) => ({
      name: `${stageName(stage)}, ${phase}`,
      range: `${start + 1}-${start + done}`,
    }));
  const start = view.bands[0]?.start ?? 0;
  const ends = view.checkpoints.filter(({ step }) => step > start).sort((a, b) => a.step - b.step);
  const epochs = ends.map(({ name, step }, i) => ({ name, range: `${(ends[i - 1]?.step ?? start) + 1}-${step}` }));
  const parts = [...phases, ...epochs];
  const [chosen, setChosen] = useState([parts[0]?.name, parts[1]?.name]);
  const part = (i: number) => parts.find(({ name }) => name === chosen[i]) ?? parts[i]!;
  const select = (i: number) => (
    <select
      aria-label={i === 0 ? 'first part' : 'second part'}
      value={part(i).name}
      onChange={({ currentTarget }) => setChosen(chosen.with(i, currentTarget.value))}
    >
      {parts.map(({ name, range }) => (
        <option key={name} value={name}>
          {name}: {range.replace('-', '–')}
        </option>
      ))}
    </select>
  );
  if (parts.length < 2) return null;
  return (
    <p class="bar">
      Compare {select(0)} and {select(1)}{' '}
      <a href={link('diff', view.id, view.id, part(0).range, part(1).range)}>Show the difference</a>
    </p>
  );
}
