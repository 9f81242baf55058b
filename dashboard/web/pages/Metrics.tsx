// The tab with a chart of every recorded number of a run.
import { useState } from 'preact/hooks';
import type { RunView } from '../../api.js';
import { Search } from '../parts/common.js';
import { RunChart } from './Overview.js';

export function Metrics({ view }: { view: RunView }) {
  const [text, setText] = useState('');
  const shown = view.charts.filter(({ title }) => title.toLowerCase().includes(text.trim().toLowerCase()));
  const groups = [...new Set(shown.map(({ group }) => group))];
  return (
    <>
      <Search label="Filter" text={text} onText={setText} />
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
