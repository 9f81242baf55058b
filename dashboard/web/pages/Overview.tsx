// The tab that answers whether the run is working: six figures, alarms, curves over the schedule, the tests of each stage,
// and the latest samples.
import type { ComponentChildren } from 'preact';
import type { Chart, RunEvent, RunView, StageHistory } from '../../api.js';
import { useResource } from '../data.js';
import {
  decimal,
  duration,
  grouped,
  intervalText,
  isBeyondNoise,
  percent,
  stageName,
  time,
  visible,
} from '../format.js';
import { Card, Spark, Table } from '../parts/common.js';
import { LineChart, MAIN_CHARTS } from '../parts/LineChart.js';
import { Schedule } from '../parts/Schedule.js';
import { link } from '../route.js';
import { report, resource, source } from '../source.js';
import { Chain, exampleChain, outcomeClass } from './Chain.js';

export function Overview({ view, failure }: { view: RunView; failure: RunEvent | undefined }) {
  const events = failure === undefined ? view.events : [...view.events, failure];
  return (
    <>
      <Figures view={view} />
      <Alarms warnings={view.warnings} events={events} />
      <Curves view={view} events={events} />
      <Stages view={view} />
      <Newest view={view} />
      <Example view={view} />
    </>
  );
}

/** The points of a line of a chart. */
const pointsOf = ({ charts }: RunView, id: string, line: string) =>
  charts.find((chart) => chart.id === id)?.lines.find(({ name }) => name === line)?.points ?? [];

/** Shows the rates on held-out problems once they are known, and the rates on validation problems before that. */
function Figures({ view }: { view: RunView }) {
  const rate = (id: string, title: string, colour: string) => {
    const points = pointsOf(view, id, 'validation');
    const held = pointsOf(view, id, 'test');
    const [first, last] =
      view.rates.length > 0 && held.length > 1 ? [held[0], held.at(-1)] : [points[0], points.at(-1)];
    const where = first === held[0] && first !== undefined ? 'held-out problems' : 'validation problems';
    const from = first === last ? '' : `from ${percent(first?.value)}`;
    const note = [last && intervalText(last), from, `${last?.problems ?? ''} ${where}`].filter(Boolean).join(', ');
    return (
      <Figure title={title} value={percent(last?.value)} note={last ? note : 'after the first evaluation'}>
        <Spark title={title} values={points.map(({ value }) => value)} colour={colour} />
      </Figure>
    );
  };
  const passed = view.curves.passRate;
  const best = view.best?.replace('checkpoint_', '').replaceAll('_', ' ');
  return (
    <dl class="tiles" aria-label="Figures">
      {rate('evaluation.passRate', 'Problems solved', 'validation')}
      {rate('evaluation.testValidity', 'Valid tests', 'validation')}
      {rate('evaluation.bugCatchRate', 'Bugs caught', 'validation')}
      <Figure
        title="Tests passed in training"
        value={percent(passed.at(-1))}
        note={passed.length > 1 ? `from ${percent(passed[0])}` : 'after the first generator step'}
      >
        <Spark title="Tests passed in training" values={passed} colour="generator" />
      </Figure>
      <Figure title="Best score" value={decimal(view.bestScore)} note={best ?? 'after the first checkpoint'} />
      <Figure
        title={view.secondsLeft === undefined ? 'Time' : 'Time left'}
        value={duration(view.secondsLeft ?? view.seconds)}
        note={`step ${view.step} of ${view.totalSteps}, ${grouped(view.sampledTokens)} tokens`}
      />
    </dl>
  );
}

type FigureProps = { title: string; value: string; note: string; children?: ComponentChildren };

const Figure = ({ title, value, note, children }: FigureProps) => (
  <div>
    <dt>{title}</dt>
    <dd>
      <span class="figure">{value}</span>
      {children}
      <span class="note">{note}</span>
    </dd>
  </div>
);

function Alarms({ warnings, events }: { warnings: RunView['warnings']; events: readonly RunEvent[] }) {
  if (warnings.length + events.length === 0)
    return <p class="alarms good">✓ No alarm, no warning and no failure so far.</p>;
  return (
    <section class="alarms bad" aria-label="Alarms and requests">
      <ul>
        {warnings.map(({ text }) => (
          <li key={text}>
            <strong>warning</strong> {visible(text)}
          </li>
        ))}
        {events.map(({ step, kind, text, at }) => (
          <li key={`${at} ${kind} ${text}`}>
            <strong>{kind}</strong> after step {step} {visible(text)}{' '}
            <span class="muted">{at && time(Date.parse(at))}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Curves({ view, events }: { view: RunView; events: RunEvent[] }) {
  const shown = MAIN_CHARTS.flatMap((id) => view.charts.find((chart) => chart.id === id) ?? []);
  return (
    <section class="card" aria-labelledby="schedule">
      <h2 id="schedule">Schedule and curves</h2>
      <div class="over">
        <Schedule bands={view.bands} events={events} />
      </div>
      {shown.length === 0 && (
        <p class="empty">The first point appears when the base model was evaluated; every step adds one.</p>
      )}
      {shown.map((chart) => (
        <RunChart key={chart.id} chart={chart} view={view} events={events} />
      ))}
      <p class="muted">
        Click a point to see the rollouts of its step. Drag to zoom in, double-click to see everything. A shade or a bar
        is the 95 % interval of a mean over problems. The test split is drawn at the step of the checkpoint that it
        measures. In a step of the discriminator, the tests are passed by the programs that they attack.
      </p>
    </section>
  );
}

/** Shows a chart. A click on a point opens the rollouts of its step. Evaluations and the warm start have no rollouts. */
export function RunChart({ chart, view, events }: { chart: Chart; view: RunView; events: readonly RunEvent[] }) {
  const open = (step: number): void => {
    const path = ['runs', view.id, 'steps', step];
    if (view.steps.some((row) => row.step === step) && source.has(resource(...path))) location.hash = link(...path);
  };
  return <LineChart chart={chart} bands={view.bands} events={events} onPick={open} />;
}

const isOver = ({ state }: RunView): boolean => state === 'finished' || state === 'stopped';

/** Shows which stage's answers were tested best. */
function Stages({ view }: { view: RunView }) {
  const path = resource('runs', view.id, 'stages');
  const { data } = useResource<StageHistory>(source.has(path) ? path : undefined, view.step);
  const { stages = [] } = data ?? {};
  if (stages.length === 0 && isOver(view)) return null; // the run had no discriminator steps
  const rateOf = ({ caught, samples, low, high }: (typeof stages)[number]) => ({ value: caught / samples, low, high });
  const [most, ...others] = stages.toSorted((a, b) => rateOf(b).value - rateOf(a).value);
  const isClear = others.length > 0 && others.every((other) => isBeyondNoise(rateOf(most!), rateOf(other)));
  return (
    <Card title="Which stage's tests catch bugs">
      <Table
        label="Tests by stage"
        head={['Tests for', 'Bugs caught', '95 % interval', 'Valid tests', 'Samples', 'Steps']}
        numbers={[4, 5]}
        rows={stages.map((row) => [
          stageName(row.stage),
          <>
            <Bar share={row.caught / row.samples} kind="caught" />
            {row === most && isClear && <strong class="mark caught"> ★ most</strong>}
          </>,
          intervalText(row),
          <Bar share={row.tests === 0 ? 0 : row.valid / row.tests} kind="good" />,
          grouped(row.samples),
          row.steps[0] === row.steps[1] ? row.steps[0] : `${row.steps[0]} to ${row.steps[1]}`,
        ])}
        empty={data ? 'A row for each stage appears after the first discriminator step.' : 'Loading …'}
      />
      <p class="muted">
        Counted over all steps that train the discriminator. A sample catches a bug if a valid test of it fails the
        program. {stages.length > 1 && !isClear && 'No stage is ahead beyond the noise. '}Stages are trained one after
        the other, so a later stage also has a discriminator that was trained for longer.
      </p>
    </Card>
  );
}

const Bar = ({ share, kind }: { share: number; kind: string }) => (
  <span class={`share ${kind}`}>
    <span style={{ width: `${100 * share}px` }} /> {percent(share)}
  </span>
);

/** Shows, for the last step of each role, how many samples had which outcome. */
function Newest({ view }: { view: RunView }) {
  const rows = (['generator', 'discriminator'] as const).flatMap(
    (role) => view.steps.findLast((row) => row.role === role) ?? [],
  );
  if (rows.length === 0 && isOver(view)) return null; // the run was only a warm start
  const linked = rows.filter(({ step }) => source.has(resource('runs', view.id, 'steps', step)));
  return (
    <Card title="What they wrote last">
      {rows.length === 0 && <p class="empty">Programs and tests appear after the first step.</p>}
      {linked.map(({ step, role, outcomes }) => (
        <p key={step} class="bar">
          <a href={link('runs', view.id, 'steps', step)}>
            step {step}, {role === 'generator' ? 'programs' : 'tests'}
          </a>
          {Object.entries(outcomes).map(([name, count]) => (
            <a
              key={name}
              class={`chip ${outcomeClass(name)}`}
              href={`${link('runs', view.id, 'steps', step)}?outcome=${name}`}
            >
              {count} {name}
            </a>
          ))}
        </p>
      ))}
      {report && <LeftOut view={view} limit={report.rolloutBytes} />}
    </Card>
  );
}

function LeftOut({ view, limit }: { view: RunView; limit: number }) {
  const shown = view.steps.filter(({ step }) => source.has(resource('runs', view.id, 'steps', step)));
  return (
    <p class="muted">
      This report has the rollouts of {shown.length} of {view.steps.length} steps: the newest, up to {limit / 1e6} MB.
      Trained tokens and problems over time are left out. <code>npx gauntlet dashboard</code> shows all of them.
    </p>
  );
}

function Example({ view: { example, state } }: { view: RunView }) {
  if (example === undefined)
    return state === 'finished' ? null : (
      <p class="empty">One chain of reasoning of the best checkpoint appears here when the run has ended.</p>
    );
  const { by, problemId } = example;
  return (
    <Card title="One chain of reasoning">
      <p class="muted">
        Problem {visible(problemId)} of the test split{by !== undefined && `, by ${visible(by)}`}. The generator sees no
        generated and no hidden test.
      </p>
      <Chain of={exampleChain(example)} />
    </Card>
  );
}
