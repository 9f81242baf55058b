// Every recorded number of a run, and two parts of it to compare.
import { useState } from 'preact/hooks';
import type { RunView } from '../../api.js';
import { stageName } from '../format.js';
import { Search } from '../parts/common.js';
import { link } from '../route.js';
import { report } from '../source.js';
import { RunChart } from './Overview.js';

export function Metrics({ view }: { view: RunView }) {
  const [text, setText] = useState('');
  const shown = view.charts.filter(({ title }) => title.toLowerCase().includes(text.trim().toLowerCase()));
  const groups = [...new Set(shown.map(({ group }) => group))];
  return (
    <>
      <div class="bar">
        <Search label="Filter" text={text} onText={setText} />
        {report === undefined && view.steps.length > 1 && <Parts view={view} />}
      </div>
      {groups.length === 0 && <p class="empty">A chart of each number appears with its first value.</p>}
      {groups.map((group) => (
        <section key={group}>
          <h2>{group}</h2>
          <div class="charts">
            {shown
              .filter((chart) => chart.group === group)
              .map((chart) => (
                <RunChart key={chart.id} chart={chart} view={view} events={view.events} />
              ))}
          </div>
        </section>
      ))}
    </>
  );
}

/** Chooses two phases, or epochs that ended with a checkpoint. */
function Parts({ view }: { view: RunView }) {
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
    <span class="bar">
      Compare {select(0)} and {select(1)}{' '}
      <a href={link('diff', view.id, view.id, part(0).range, part(1).range)}>Show the difference</a>
    </span>
  );
}
