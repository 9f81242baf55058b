// Problems over time: lists every group of every step under its problem. The problems that got worse come first.
import { useState } from 'preact/hooks';
import type { ProblemHistory, RunView } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, percent, points, visible } from '../format.js';
import { by, Card, Search, Show, Spark, Table } from '../parts/common.js';
import { link } from '../route.js';
import { resource } from '../source.js';

type Problem = ProblemHistory['problems'][number];

export function ProblemsPage({ view, shown }: { view: RunView; shown: string | undefined }) {
  const history = useResource<ProblemHistory>(resource('runs', view.id, 'problems'), view.step);
  return (
    <Show of={history}>
      {({ problems }) => {
        const problem = problems.find(({ id }) => id === shown);
        if (problem) return <OneProblem view={view} problem={problem} />;
        return <ProblemTable run={view.id} problems={problems} />;
      }}
    </Show>
  );
}

const OneProblem = ({ view: { id: run }, problem }: { view: RunView; problem: Problem }) => (
  <Card title={visible(problem.id)}>
    <Table
      label="Groups of the problem"
      head={['Step', 'Role', 'Tests passed, or valid tests', 'Mean reward']}
      numbers={[2, 3]}
      rows={problem.points.map(({ step, group, role, reward, good }) => [
        <a href={link('runs', run, 'steps', step, 'groups', group)}>step {step}</a>,
        role,
        percent(good),
        decimal(reward),
      ])}
    />
  </Card>
);

const SHOWN = 500; // the number of problems in the table

/** The shares of passed tests. Groups of tests are left out, because their shares of valid tests are not comparable. */
const programShares = ({ points: all }: Problem): number[] =>
  all.filter(({ role }) => role === 'generator').map(({ good }) => good);

function changeOf(problem: Problem): number | undefined {
  const shares = programShares(problem);
  return shares.length < 2 ? undefined : shares.at(-1)! - shares[0]!;
}

export function Change({ of: change }: { of: number | undefined }) {
  if (change === undefined) return <>–</>;
  const quality = change < 0 ? 'bad' : change > 0 ? 'good' : '';
  return (
    <span class={`mark ${quality}`}>
      {change < 0 ? '▾' : change > 0 ? '▴' : ''} {points(change)}
    </span>
  );
}

function ProblemTable({ run, problems }: { run: string; problems: Problem[] }) {
  const [text, setText] = useState('');
  const shown = problems.filter(({ id }) => id.toLowerCase().includes(text.trim().toLowerCase()));
  if (problems.length === 0) return <p class="empty">A problem appears when a step has sampled it.</p>;
  return (
    <>
      <div class="bar">
        <Search label="Filter" text={text} onText={setText} />
        <span class="muted" aria-live="polite">
          {shown.length} of {problems.length} problems, by the share of tests that their programs pass
        </span>
      </div>
      <Table
        label="Problems"
        head={['Problem', 'Change', 'At first', 'At last', 'Over time', 'Groups of tests']}
        numbers={[1, 2, 3, 5]}
        details={[4, 5]}
        sorted={{ column: 1, descending: false }}
        limit={SHOWN}
        rows={shown.map((problem) => {
          const [shares, change] = [programShares(problem), changeOf(problem)];
          return [
            by(
              problem.id,
              <a href={`${link('runs', run, 'problems')}?id=${encodeURIComponent(problem.id)}`}>
                {visible(problem.id)}
              </a>,
            ),
            by(change, <Change of={change} />),
            by(shares[0], percent(shares[0])),
            by(shares.at(-1), percent(shares.at(-1))),
            by(shares.length, <Spark title="Tests passed" values={shares} colour="generator" />),
            by(problem.points.length - shares.length),
          ];
        })}
      />
      {shown.length > SHOWN && <p class="muted">The first {SHOWN}. Use the filter to see others.</p>}
    </>
  );
}
