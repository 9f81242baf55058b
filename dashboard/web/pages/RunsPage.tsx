// The page with all runs of the store: shows the state of each run, and lets the user choose two runs to compare.
import { useState } from 'preact/hooks';
import type { LiveStates, RunList, RunSummary } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, duration, modelName, percent, phaseName, time, visible } from '../format.js';
import { useStates, useVersion } from '../live.js';
import { by, Search, Show, Spark, Table } from '../parts/common.js';
import { link } from '../route.js';

/** A run with the state that the page shows: the state on the server, or else the state in the store. */
type Run = Omit<RunSummary, 'state'> & { state: string };

const HEAD = 'Run,State,Progress,Tests passed,Valid tests,Best score,Time left,Last record,Compare'.split(',');
const LAST_RECORD = HEAD.indexOf('Last record');

const cellsOf = (run: Run) => [
  by(run.id, <Name run={run} />),
  by(run.state, <span class={`state ${run.state}`}>{run.state}</span>),
  by(run.step / run.totalSteps, <Progress run={run} />),
  by(run.curves.passRate.at(-1), <Curve title="Tests passed" values={run.curves.passRate} colour="generator" />),
  by(run.curves.validity.at(-1), <Curve title="Valid tests" values={run.curves.validity} colour="discriminator" />),
  by(
    run.bestScore,
    <span class="curve">
      <span class="muted">Best score </span>
      {decimal(run.bestScore)}
    </span>,
  ),
  by(
    run.secondsLeft,
    run.secondsLeft === undefined ? (
      <span class="muted">took&nbsp;{duration(run.seconds).replaceAll(' ', '\u00a0')}</span>
    ) : (
      duration(run.secondsLeft)
    ),
  ),
  by(run.recordedAt, time(run.recordedAt)),
];

const Curve = (props: Parameters<typeof Spark>[0]) => (
  <span class="curve">
    <span class="muted">{props.title} </span>
    <Spark {...props} /> <span class="latest">{percent(props.values.at(-1))}</span>
  </span>
);

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

/** The state in the store holds for a run that has ended, unless the run was continued on the server. */
function withState(run: RunSummary, live?: LiveStates): Run {
  const known = live && Object.hasOwn(live.states, run.id) ? live.states[run.id] : undefined;
  if (known?.isOpen || (known && run.state === 'unfinished')) return { ...run, state: known.state };
  if (live === undefined || run.state !== 'unfinished') return run;
  return { ...run, state: live.problem === undefined ? 'not on the server' : 'unknown' };
}

function RunTable({ runs, problem }: { runs: Run[]; problem: string | undefined }) {
  const [text, setText] = useState('');
  const [first, setFirst] = useState<string>(); // the run that was chosen first for a comparison
  if (runs.length === 0)
    return (
      <p class="empty">
        This store has no run yet. <code>npx gauntlet demo</code> trains one in minutes; it appears here by itself, a
        minute after its start.
      </p>
    );
  const shown = runs.filter((run) => matches(run, text));
  return (
    <>
      <div class="bar">
        <Search label="Filter" text={text} onText={setText} />
        <span class="muted" aria-live="polite">
          {shown.length} of {runs.length} runs
          {first !== undefined && `; choose the run to compare ${first} with`}
        </span>
      </div>
      {problem !== undefined && runs.some(({ state }) => state === 'unknown') && (
        <p class="muted">Unknown states: {visible(problem)}</p>
      )}
      <Table
        label="Runs"
        head={runs.length > 1 ? HEAD : HEAD.slice(0, -1)}
        numbers={[3, 4, 5, 6, 7]}
        details={[6, 7]}
        sorted={{ column: LAST_RECORD, descending: true }}
        rows={shown.map((run) => [
          ...cellsOf(run),
          ...(runs.length > 1 ? [<Compare first={first} id={run.id} choose={setFirst} />] : []),
        ])}
      />
    </>
  );
}

const Name = ({ run: { id, model, problem } }: { run: Run }) => (
  <>
    <a href={link('runs', id)}>{id}</a>
    <div class={problem === undefined ? 'muted' : 'problem'}>{visible(problem ?? modelName(model))}</div>
  </>
);

const Progress = ({ run: { step, totalSteps, stage, phase } }: { run: Run }) => (
  <>
    <progress value={step} max={Math.max(1, totalSteps)} aria-label="Updates" /> {step} / {totalSteps}
    <div class="muted">{phase === undefined ? 'no step yet' : phaseName(stage, phase)}</div>
  </>
);

/** The first click chooses a run. The second click chooses the run to compare it with. */
function Compare({ first, id, choose }: { first: string | undefined; id: string; choose: (id?: string) => void }) {
  if (first !== undefined && first !== id)
    return (
      <a href={link('diff', first, id)} aria-label={`compare ${first} with ${id}`}>
        with {first}
      </a>
    );
  return (
    <button
      type="button"
      aria-pressed={first === id}
      aria-label={`compare ${id}`}
      onClick={() => choose(first === id ? undefined : id)}
    >
      {first === id ? 'cancel' : 'compare'}
    </button>
  );
}

const matches = ({ id, state, model, phase = '' }: Run, text: string): boolean =>
  `${id} ${state} ${model} ${phase}`.toLowerCase().includes(text.trim().toLowerCase());
