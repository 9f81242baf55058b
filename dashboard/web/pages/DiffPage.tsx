// Compares two runs: which one is better, the problems gained and lost, the first differences, the curves of both, and the
// inputs that differ.
import type { Chart, DiffView, Point } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, intervalText, isBeyondNoise, percent, stageName, visible } from '../format.js';
import { Card, Details, LongText, Scroll, Show, Table } from '../parts/common.js';
import { LineChart, MAIN_CHARTS } from '../parts/LineChart.js';
import { link } from '../route.js';
import { resource } from '../source.js';
import { Change, differenceOf, GroupShare } from './ProblemsPage.js';

export function DiffPage({ runs }: { runs: [string, string] }) {
  const loaded = useResource<DiffView>(resource('diff', ...runs));
  return <Show of={loaded}>{(view) => <Diff view={view} />}</Show>;
}

function Diff({ view }: { view: DiffView }) {
  const { runs, charts } = view;
  const isMain = ({ id, lines }: Chart): boolean =>
    MAIN_CHARTS.some((name) => id.startsWith(`${name}.`)) && lines.some((line) => line.points.length > 1);
  const otherSeeds = view.facts.some(({ name }) => name === 'seed'); // then everything differs from the first step on
  return (
    <>
      <h1 class="sides">
        {titles(runs)[0]} and {titles(runs)[1]}
      </h1>
      <Better view={view} />
      {!otherSeeds && <FirstDifferences view={view} />}
      <Problems view={view} />
      <Card title="Curves">
        <Curves charts={charts.filter(isMain)} />
        <Details summary={`All ${charts.length} curves`}>{() => <Curves charts={charts} />}</Details>
      </Card>
      <Inputs view={view} />
      {otherSeeds && <Details summary="First differences">{() => <FirstDifferences view={view} />}</Details>}
    </>
  );
}

const Curves = ({ charts }: Pick<DiffView, 'charts'>) => (
  <div class="charts">
    {charts.map((chart) => (
      <LineChart key={chart.id} chart={chart} bands={[]} />
    ))}
  </div>
);

const titles = (names: readonly string[]) =>
  names.map((name, i) => <span class={i === 0 ? 'one' : 'two'}>{name}</span>);

const RATES = ['passRate', 'greedyPassRate', 'testValidity', 'bugCatchRate'];

/** Compares the last evaluations of the two runs. */
function Better({ view: { runs, charts } }: { view: DiffView }) {
  const rows = RATES.flatMap((name) => {
    for (const split of ['test', 'validation']) {
      const chart = charts.find(({ id }) => id === `evaluation.${name}.${split}`);
      const lines = runs.map((side) => chart?.lines.find((line) => line.name === side)?.points ?? []);
      if (split === 'test' && lines.some((own) => own.length < 2)) continue; // one run has not measured these rates
      const [one, two] = lines.map((own) => own.at(-1));
      if (chart && one && two) return [{ title: chart.title, one, two }];
    }
    return [];
  });
  return (
    <Card title="Which is better">
      <Table
        label="Rates of both"
        head={['Last evaluation', ...titles(runs), 'Difference']}
        numbers={[1, 2, 3]}
        rows={rows.map(({ title, one, two }) => {
          const shown = (rate: Point) => (
            <>
              {percent(rate.value)}{' '}
              <span class="noise">
                {intervalText(rate)}, step {rate.step}
              </span>
            </>
          );
          const difference = (
            <>
              <Change of={{ before: one, after: two }} />
              {!isBeyondNoise(one, two) && <span class="noise">, within the noise</span>}
            </>
          );
          return [title, shown(one), shown(two), difference];
        })}
        empty="Rates appear when both sides have an evaluation."
      />
      <p class="muted">
        A difference within the noise is one that the two intervals explain. They are not paired by problem:{' '}
        <code>evaluate</code> pairs them, and finds smaller differences. One run each says nothing about other seeds:{' '}
        <code>npx gauntlet compare --help</code>.
      </p>
    </Card>
  );
}

const LISTED = 15; // the length limit of a list of problems

/** Compares, for each problem, the last groups of programs of the two runs. */
function Problems({ view: { runs, problems } }: { view: DiffView }) {
  const sorted = problems.toSorted((a, b) => differenceOf(a.change) - differenceOf(b.change));
  const table = (title: string, rows: typeof problems) => (
    <Card
      title={
        <>
          {title} <span class="muted">{rows.length}, </span>
          <span class="muted">
            {rows.filter(({ change }) => isBeyondNoise(change.before, change.after)).length} beyond the noise
          </span>
        </>
      }
    >
      <Table
        label={title}
        head={['Problem', ...titles(runs), 'Change']}
        numbers={[1, 2, 3]}
        rows={rows
          .slice(0, LISTED)
          .map(({ id, change }) => [
            visible(id),
            <GroupShare run={runs[0]} of={change.before} />,
            <GroupShare run={runs[1]} of={change.after} />,
            <Change of={change} />,
          ])}
        empty="None."
      />
      {rows.length > LISTED && <p class="muted">The {LISTED} with the largest change.</p>}
    </Card>
  );
  return (
    <>
      <p class="muted">
        {problems.length} problems were sampled on both sides in the common steps: the share of passed tests among those
        that both last groups of programs had. 3/4: three of four programs pass their whole suite. Grey: within the
        noise.
      </p>
      <div class="columns">
        {table(
          'Problems lost',
          sorted.filter(({ change }) => differenceOf(change) < 0),
        )}
        {table('Problems gained', sorted.filter(({ change }) => differenceOf(change) > 0).reverse())}
      </div>
    </>
  );
}

function Inputs({ view: { runs, facts } }: { view: DiffView }) {
  return (
    <Card title="Inputs that differ">
      <Table
        label="Inputs that differ"
        head={['Input', ...runs.map((run) => <a href={link('runs', run)}>{run}</a>)]}
        rows={facts.map(({ name, values }) => [name, ...values.map((value) => <code>{visible(value)}</code>)])}
        empty="None."
      />
    </Card>
  );
}

/** Shows the first token and the first reward that differ. */
function FirstDifferences({ view }: { view: DiffView }) {
  const { runs, tokens, reward, commonSteps } = view;
  const links = (step: number, group?: number) => (
    <span class="bar">
      {runs.map((run, i) => (
        <a key={run} class={i === 0 ? 'one' : 'two'} href={link('runs', run, 'steps', step, ...groupOf(group))}>
          {group === undefined ? `step ${step}` : 'this group'} of {run}
        </a>
      ))}
    </span>
  );
  return (
    <Card title="First differences">
      <p class="muted">Compared are the {commonSteps} steps that both runs have.</p>
      {tokens === undefined ? (
        <p>All sampled tokens of these steps are equal.</p>
      ) : (
        <>
          <h3>
            Tokens: step {tokens.step}
            {tokens.role && `, ${tokens.role}`}
          </h3>
          <p>
            {tokens.what}
            {tokens.token !== undefined &&
              ` (from token ${tokens.token} on: ids ${tokens.ids?.map((id) => id ?? 'none').join(' and ')})`}
            {tokens.stage !== undefined && ` in ${stageName(tokens.stage)}`}
            <Place of={tokens} />
          </p>
          {links(tokens.step)}
          <Scroll label="Both texts">
            <div class="side">
              {tokens.texts?.map((text, i) => (
                <article key={i}>
                  <h4 class={i === 0 ? 'one' : 'two'}>{runs[i]}</h4>
                  <LongText label={`Text of ${runs[i]}`} text={text} />
                </article>
              ))}
            </div>
          </Scroll>
        </>
      )}
      {reward === undefined ? (
        <p>All rewards of these steps are equal.</p>
      ) : (
        <>
          <h3>Rewards: step {reward.step}</h3>
          <p>
            {reward.what}
            <Place of={reward} />
            {reward.values && `: ${reward.values.map((value) => decimal(value)).join(' and ')}`}
          </p>
          {links(reward.step, reward.group)}
        </>
      )}
    </Card>
  );
}

const groupOf = (group: number | undefined) => (group === undefined ? [] : ['groups', group]);

type Placed = Pick<NonNullable<DiffView['tokens']>, 'sample' | 'problemId' | 'problems'>;

const Place = ({ of: { sample, problemId, problems } }: { of: Placed }) => (
  <>
    {sample !== undefined && ` of sample ${sample}`}
    {problems
      ? ` (problems ${problems.map(visible).join(' and ')})`
      : problemId !== undefined && ` for ${visible(problemId)}`}
  </>
);
