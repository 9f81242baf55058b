// Problems over time: every group of every step by its problem.
import { useState } from 'preact/hooks';
import type { Chart, ProblemHistory, RunView } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, visible } from '../format.js';
import { Crumbs, Show } from '../parts/common.js';
import { LineChart } from '../parts/LineChart.js';
import { type Column, SortedTable } from '../parts/SortedTable.js';
import { link } from '../route.js';
import { resource } from '../source.js';

type Problem = ProblemHistory['problems'][number];

export function ProblemsPage({ run, shown }: { run: string; shown: string | undefined }) {
  const history = useResource<ProblemHistory>(resource('runs', run, 'problems'));
  return (
    <>
      <Crumbs>
        <a href={link('runs', run)}>{run}</a>
        {shown !== undefined && <a href={link('runs', run, 'problems')}>Problems</a>}
      </Crumbs>
      <h1>{shown === undefined ? 'Problems over time' : visible(shown)}</h1>
      <Show of={history}>
        {({ problems }) => {
          const problem = problems.find(({ id }) => id === shown);
          if (problem) return <OneProblem run={run} problem={problem} />;
          return <ProblemTable run={run} problems={problems} />;
        }}
      </Show>
    </>
  );
}

function OneProblem({ run, problem }: { run: string; problem: Problem }) {
  const { data } = useResource<RunView>(resource('runs', run));
  const open = (step: number): void => {
    const point = problem.points.find((each) => each.step === step);
    if (point) location.hash = link('runs', run, 'steps', step, 'groups', point.group);
  };
  return (
    <>
      <LineChart chart={chartOf(problem)} bands={data?.bands ?? []} onPick={open} />
      <ul>
        {problem.points.map(({ step, group, role, reward }) => (
          <li key={`${step} ${group}`}>
            <a href={link('runs', run, 'steps', step, 'groups', group)}>step {step}</a>, {role}: mean reward{' '}
            {decimal(reward)}
          </li>
        ))}
      </ul>
    </>
  );
}

function chartOf({ points }: Problem): Chart {
  const lines = (['generator', 'discriminator'] as const).map((name) => ({
    name,
    points: points.filter(({ role }) => role === name).map(({ step, reward: value }) => ({ step, value })),
  }));
  const title = 'Mean reward of the group';
  return { id: 'problem', group: '', title, percent: false, lines: lines.filter((line) => line.points.length > 0) };
}

const SHOWN = 500; // problems

/** Rewards of programs and of tests mean different things, so only those of programs are compared. */
function columnsOf(run: string): Column<Problem>[] {
  const ofPrograms = ({ points }: Problem) => points.filter(({ role }) => role === 'generator');
  const first = (problem: Problem) => ofPrograms(problem)[0]?.reward;
  const last = (problem: Problem) => ofPrograms(problem).at(-1)?.reward;
  return [
    {
      title: 'Problem',
      value: ({ id }) => id,
      text: ({ id }) => <a href={`${link('runs', run, 'problems')}?id=${encodeURIComponent(id)}`}>{visible(id)}</a>,
    },
    {
      title: 'Groups',
      value: (row) => ofPrograms(row).length,
      text: (row) => ofPrograms(row).length,
      numeric: true,
    },
    {
      title: 'Groups of tests',
      value: (row) => row.points.length - ofPrograms(row).length,
      text: (row) => row.points.length - ofPrograms(row).length,
      numeric: true,
    },
    { title: 'First reward', value: first, text: (row) => decimal(first(row)), numeric: true },
    { title: 'Last reward', value: last, text: (row) => decimal(last(row)), numeric: true },
  ];
}

function ProblemTable({ run, problems }: { run: string; problems: Problem[] }) {
  const [text, setText] = useState('');
  const shown = problems.filter(({ id }) => id.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <>
      <div class="bar">
        <label>
          Filter <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <span class="muted" aria-live="polite">
          {shown.length} of {problems.length} problems; the rewards are those of programs
        </span>
      </div>
      <SortedTable
        label="Problems"
        columns={columnsOf(run)}
        rows={shown}
        id={({ id }) => id}
        sortedBy={1}
        limit={SHOWN}
      />
      {shown.length > SHOWN && <p class="muted">The first {SHOWN}. Use the filter to see others.</p>}
    </>
  );
}
