// Problems over time: lists every group of every step under its problem. The problems that got worse come first.
import { useState } from 'preact/hooks';
import type { GroupView, Point, ProblemHistory, ProblemShare, RunView } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, isBeyondNoise, percent, points, visible } from '../format.js';
import { by, Card, LongText, Search, Show, Spark, Table } from '../parts/common.js';
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
    <Text run={run} point={problem.points.at(-1)!} />
    <Spark title="Tests passed" values={programShares(problem)} colour="generator" />
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

function Text({ run, point: { step, group } }: { run: string; point: Problem['points'][number] }) {
  const loaded = useResource<GroupView>(resource('runs', run, 'steps', step, 'groups', group));
  return (
    <Show of={loaded}>
      {({ problem }) => <LongText label="Problem" text={`${problem.description}\n\n${problem.signature}`} />}
    </Show>
  );
}

const SHOWN = 500; // the number of problems in the table

/** The shares of passed tests. Groups of tests are left out, because their shares of valid tests are not comparable. */
const programShares = ({ points: all }: Problem): number[] =>
  all.filter(({ role }) => role === 'generator').map(({ good }) => good);

type Rate = Omit<Point, 'step'>;

export const differenceOf = ({ before, after }: { before: Rate; after: Rate }): number => after.value - before.value;

/** Shows a difference in colour, or in grey if it is within the noise. */
export function Change({ of: change }: { of: { before: Rate; after: Rate } | undefined }) {
  if (change === undefined) return <>–</>;
  const difference = differenceOf(change);
  if (!isBeyondNoise(change.before, change.after)) return <span class="noise">{points(difference)}</span>;
  return (
    <span class={`mark ${difference < 0 ? 'bad' : 'good'}`}>
      {difference < 0 ? '▾' : '▴'} {points(difference)}
    </span>
  );
}

/** Shows the share of passed tests, the programs that it comes from, and their step. */
export const GroupShare = ({ run, of }: { run: string; of: ProblemShare | undefined }) =>
  of === undefined ? (
    <>–</>
  ) : (
    <>
      {percent(of.value)}{' '}
      <a href={link('runs', run, 'steps', of.step, 'groups', of.group)}>
        {of.whole}/{of.programs}, step {of.step}
      </a>
    </>
  );

function ProblemTable({ run, problems }: { run: string; problems: Problem[] }) {
  const [text, setText] = useState('');
  const shown = problems.filter(({ id }) => id.toLowerCase().includes(text.trim().toLowerCase()));
  if (problems.length === 0) return <p class="empty">A problem appears when a step has sampled it.</p>;
  return (
    <>
      <div class="bar">
        <Search label="Filter" text={text} onText={setText} />
        <span class="muted" aria-live="polite">
          {shown.length} of {problems.length} problems, of which {problems.filter(({ change }) => change).length} have
          two groups with common tests, by the share of passed tests among those of the first and the last group of
          programs; 3/4: three of four programs pass their whole suite. Grey: within the noise, which Wilson's intervals
          over these few programs explain
        </span>
      </div>
      <Table
        label="Problems"
        head={['Problem', 'Change', 'At first', 'At last', 'Common tests', 'Over time', 'Groups of tests']}
        numbers={[1, 2, 3, 4, 6]}
        details={[4, 5, 6]}
        sorted={{ column: 1, descending: false }}
        limit={SHOWN}
        rows={shown.map((problem) => {
          const [shares, { change }] = [programShares(problem), problem];
          return [
            by(
              problem.id,
              <a href={`${link('runs', run, 'problems')}?id=${encodeURIComponent(problem.id)}`}>
                {visible(problem.id)}
              </a>,
            ),
            by(change && differenceOf(change), <Change of={change} />),
            by(change?.before.value, <GroupShare run={run} of={change?.before} />),
            by(change?.after.value, <GroupShare run={run} of={change?.after} />),
            by(change?.tests),
            by(shares.length, <Spark title="Tests passed" values={shares} colour="generator" />),
            by(problem.points.length - shares.length),
          ];
        })}
      />
      {shown.length > SHOWN && <p class="muted">The first {SHOWN}. Use the filter to see others.</p>}
    </>
  );
}
