// All runs of the store: filter, sort, and select two to compare.
import { useState } from 'preact/hooks';
import type { LiveStates, RunList, RunSummary } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, duration, grouped, stageName, time, visible } from '../format.js';
import { useStates, useVersion } from '../live.js';
import { Show } from '../parts/common.js';
import { type Column, SortedTable } from '../parts/SortedTable.js';
import { link } from '../route.js';

/** A run with its state as shown: of the server, or else of the store. */
type Run = Omit<RunSummary, 'state'> & { state: string };

const COLUMNS: readonly Column<Run>[] = [
  { title: 'Run', value: ({ id }) => id, text: (run) => <Name run={run} /> },
  {
    title: 'State',
    value: ({ state }) => state,
    text: ({ state }) => <span class={`state ${state}`}>{state}</span>,
  },
  { title: 'Stage', value: ({ stage }) => stage, text: ({ stage }) => stageName(stage), detail: true },
  { title: 'Phase', value: ({ phase }) => phase, text: ({ phase }) => phase ?? '–', detail: true },
  {
    title: 'Step',
    value: ({ step }) => step,
    text: ({ step, totalSteps }) => `${step} / ${totalSteps}`,
    numeric: true,
  },
  { title: 'Best score', value: (run) => run.bestScore, text: (run) => decimal(run.bestScore), numeric: true },
  {
    title: 'Tokens',
    value: (run) => run.sampledTokens,
    text: (run) => grouped(run.sampledTokens),
    numeric: true,
    detail: true,
  },
  { title: 'Time', value: (run) => run.seconds, text: (run) => duration(run.seconds), numeric: true, detail: true },
  {
    title: 'Time left',
    value: (run) => run.secondsLeft,
    text: (run) => duration(run.secondsLeft),
    numeric: true,
    detail: true,
  },
  {
    title: 'Last record',
    value: (run) => run.recordedAt,
    text: (run) => time(run.recordedAt),
    numeric: true,
    detail: true,
  },
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
  if (runs.length === 0)
    return (
      <p>
        This store has no run yet. <code>npx gauntlet demo</code> trains one in minutes; it appears here by itself.
      </p>
    );
  const states = [...new Set(runs.map((run) => run.state))].sort();
  const shown = runs.filter((run) => (state === '' || run.state === state) && matches(run, text));
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
      <SortedTable
        label="Runs"
        columns={COLUMNS}
        rows={shown}
        id={({ id }) => id}
        sortedBy={COLUMNS.length - 1}
        before={{
          title: 'Compare',
          cell: ({ id }) => (
            <input
              type="checkbox"
              checked={chosen.includes(id)}
              aria-label={`compare ${id}`}
              onChange={() => choose(id)}
            />
          ),
        }}
      />
    </>
  );
}

const Name = ({ run: { id, problem } }: { run: Run }) => (
  <>
    <a href={link('runs', id)}>{id}</a>
    {problem !== undefined && <div class="problem">{visible(problem)}</div>}
  </>
);

const matches = ({ id, model, phase = '' }: Run, text: string): boolean =>
  `${id} ${model} ${phase}`.toLowerCase().includes(text.trim().toLowerCase());
