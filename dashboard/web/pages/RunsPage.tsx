// All runs of the store: filter, sort, and select two to compare.
import { useState } from 'preact/hooks';
import type { LiveStates, RunList, RunSummary } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, duration, grouped, stageName, time, visible } from '../format.js';
import { useStates, useVersion } from '../live.js';
import { Scroll, Show } from '../parts/common.js';
import { link } from '../route.js';

/** A run with its state as shown: of the server, or else of the store. */
type Run = Omit<RunSummary, 'state'> & { state: string };

interface Column {
  title: string;
  value: (run: Run) => string | number | undefined; // to sort by
  text: (run: Run) => string;
  numeric?: true;
}

const COLUMNS: readonly Column[] = [
  { title: 'Run', value: ({ id }) => id, text: ({ id }) => id },
  { title: 'State', value: ({ state }) => state, text: ({ state }) => state },
  { title: 'Stage', value: ({ stage }) => stage, text: ({ stage }) => stageName(stage) },
  { title: 'Phase', value: ({ phase }) => phase, text: ({ phase }) => phase ?? '–' },
  {
    title: 'Step',
    value: ({ step }) => step,
    text: ({ step, totalSteps }) => `${step} / ${totalSteps}`,
    numeric: true,
  },
  { title: 'Best score', value: (run) => run.bestScore, text: (run) => decimal(run.bestScore), numeric: true },
  { title: 'Tokens', value: (run) => run.sampledTokens, text: (run) => grouped(run.sampledTokens), numeric: true },
  { title: 'Time', value: (run) => run.seconds, text: (run) => duration(run.seconds), numeric: true },
  { title: 'Time left', value: (run) => run.secondsLeft, text: (run) => duration(run.secondsLeft), numeric: true },
  { title: 'Last record', value: (run) => run.recordedAt, text: (run) => time(run.recordedAt), numeric: true },
];

export function RunsPage() {
  const version = useVersion();
  const live = useStates();
  return (
    <>
      <h1>Runs</h1>
      <Show of={useResource<RunList>('runs', version)}>
        {({ runs }) => <RunTable runs={runs.map((run) => withState(run, live))} problem={live?.problem} />}
      </Show>
    </>
  );
}

/** A result in the store says how a run ended, unless it was continued. */
function withState(run: RunSummary, live?: LiveStates): Run {
  const known = live && Object.hasOwn(live.states, run.id) ? live.states[run.id] : undefined;
  if (known?.isOpen || (known && run.state === 'unfinished')) return { ...run, state: known.state };
  if (live === undefined || run.state !== 'unfinished') return run;
  return { ...run, state: live.problem === undefined ? 'not on the server' : 'unknown' };
}

function RunTable({ runs, problem }: { runs: Run[]; problem: string | undefined }) {
  const [text, setText] = useState('');
  const [state, setState] = useState('');
  const [chosen, setChosen] = useState<string[]>([]); // the last two
  const [order, setOrder] = useState({ column: COLUMNS.length - 1, descending: true });
  if (runs.length === 0) return <p>This store has no run yet.</p>;
  const states = [...new Set(runs.map((run) => run.state))].sort();
  const shown = sorted(
    runs.filter((run) => state === '' || run.state === state).filter((run) => matches(run, text)),
    order,
  );
  const sortBy = (column: number): void =>
    setOrder({ column, descending: order.column === column ? !order.descending : COLUMNS[column]!.numeric === true });
  const choose = (id: string): void =>
    setChosen((now) => (now.includes(id) ? now.filter((each) => each !== id) : [...now, id].slice(-2)));
  return (
    <>
      <div class="bar">
        <label>
          Filter <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <label>
          State{' '}
          <select value={state} onChange={(event) => setState(event.currentTarget.value)}>
            <option value="">all</option>
            {[...new Set([...states, ...(state === '' ? [] : [state])])].map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <span class="muted" aria-live="polite">
          {shown.length} of {runs.length} runs
        </span>
        {chosen.length === 2 ? (
          <a href={link('diff', ...chosen)}>Compare {chosen.join(' and ')}</a>
        ) : (
          runs.length > 1 && <span class="muted">Select two runs to compare them.</span>
        )}
      </div>
      {problem !== undefined && states.includes('unknown') && <p class="muted">Unknown states: {visible(problem)}</p>}
      <Scroll label="Runs">
        <table>
          <thead>
            <tr>
              <th scope="col">
                <span class="unseen">Compare</span>
              </th>
              {COLUMNS.map(({ title, numeric }, i) => (
                <th
                  key={title}
                  scope="col"
                  class={numeric && 'number'}
                  aria-sort={order.column !== i ? 'none' : order.descending ? 'descending' : 'ascending'}
                >
                  <button type="button" class="plain" onClick={() => sortBy(i)}>
                    {title}
                    <span aria-hidden="true">{order.column !== i ? '' : order.descending ? ' ▾' : ' ▴'}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((run) => (
              <RunRow key={run.id} run={run} isChosen={chosen.includes(run.id)} onChoose={choose} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

interface RowProps {
  run: Run;
  isChosen: boolean;
  onChoose: (id: string) => void;
}

function RunRow({ run, isChosen, onChoose }: RowProps) {
  return (
    <tr>
      <td>
        <input type="checkbox" checked={isChosen} aria-label={`compare ${run.id}`} onChange={() => onChoose(run.id)} />
      </td>
      <th scope="row">
        <a href={link('runs', run.id)}>{run.id}</a>
        {run.problem !== undefined && <div class="problem">{visible(run.problem)}</div>}
      </th>
      {COLUMNS.slice(1).map(({ title, text, numeric }) => (
        <td key={title} class={numeric && 'number'}>
          {title === 'State' ? <span class={`state ${run.state}`}>{run.state}</span> : text(run)}
        </td>
      ))}
    </tr>
  );
}

const matches = ({ id, model, phase = '' }: Run, text: string): boolean =>
  `${id} ${model} ${phase}`.toLowerCase().includes(text.trim().toLowerCase());

/** Runs without a value come last. */
function sorted(runs: Run[], { column, descending }: { column: number; descending: boolean }): Run[] {
  const { value } = COLUMNS[column]!;
  const sign = descending ? -1 : 1;
  return runs.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    return a < b ? -sign : a > b ? sign : 0;
  });
}
