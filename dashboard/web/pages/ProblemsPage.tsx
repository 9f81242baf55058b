// Problems over time: every group of every step by its problem.
import { useState } from 'preact/hooks';
import type { Chart, ProblemHistory, RunView } from '../../api.js';
import { resource, useResource } from '../data.js';
import { decimal, visible } from '../format.js';
import { Crumbs, Scroll, Show } from '../parts/common.js';
import { LineChart } from '../parts/LineChart.js';
import { link } from '../route.js';

type Problem = ProblemHistory['problems'][number];

export function ProblemsPage({ run, shown }: { run: string; shown: string | undefined }) {
  const history = useResource<ProblemHistory>(resource('runs', run, 'problems'));
  return (
    <>
      <Crumbs>
        <a href={link('runs')}>Runs</a>
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
          {shown.length} of {problems.length} problems
        </span>
      </div>
      <Scroll label="Problems">
        <table>
          <thead>
            <tr>
              <th scope="col">Problem</th>
              <th scope="col" class="number">
                Groups
              </th>
              <th scope="col" class="number">
                First reward
              </th>
              <th scope="col" class="number">
                Last reward
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.slice(0, 500).map(({ id, points }) => (
              <tr key={id}>
                <th scope="row">
                  <a href={`${link('runs', run, 'problems')}?id=${encodeURIComponent(id)}`}>{visible(id)}</a>
                </th>
                <td class="number">{points.length}</td>
                <td class="number">{decimal(points[0]?.reward)}</td>
                <td class="number">{decimal(points.at(-1)?.reward)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {shown.length > 500 && <p class="muted">The first 500. Use the filter to see others.</p>}
    </>
  );
}
