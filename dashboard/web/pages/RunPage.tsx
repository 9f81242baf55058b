// One run: where it is, its schedule as a band, a chart of every recorded metric, control requests, its steps, and an example.
import type { Band, Chart, RateRow, RunEvent, RunView, StepRow } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, duration, grouped, percent, stageName, time, visible } from '../format.js';
import { useLive, useVersion } from '../live.js';
import { Crumbs, Details, LongText, ResourceLink, Scroll, Show, Tiles } from '../parts/common.js';
import { LineChart } from '../parts/LineChart.js';
import { link } from '../route.js';
import { report, resource, source } from '../source.js';
import { Compare } from './Compare.js';
import { Controls } from './Controls.js';
import { Example } from './Example.js';

export function RunPage({ run }: { run: string }) {
  const loaded = useResource<RunView>(resource('runs', run), useVersion(run));
  return (
    <>
      <Crumbs />
      <h1>{run}</h1>
      <Show of={loaded}>{(view) => <Run view={view} />}</Show>
    </>
  );
}

function Run({ view }: { view: RunView }) {
  const { live, refresh } = useLive(view.id);
  const latest = view.steps.at(-1);
  const shown = view.steps.filter(({ step }) => source.has(resource(...pathOf(view.id, step))));
  const groups = [...new Set(view.charts.map(({ group }) => group))];
  const state = live?.state ?? view.state;
  const events = live?.failure === undefined ? view.events : [...view.events, live.failure];
  return (
    <>
      <Tiles
        of={[
          ['State', <span class={`state ${state}`}>{state}</span>],
          ['Step', `${view.step} / ${view.totalSteps}`],
          ['Phase', view.phase === undefined ? '–' : `${stageName(view.stage)}, ${view.phase}`],
          ['Best score', decimal(view.bestScore)],
          ['Sampled tokens', grouped(view.sampledTokens)],
          ['Time', duration(view.seconds)],
          ...(view.secondsLeft === undefined ? [] : [['Time left', duration(view.secondsLeft)] as const]),
          ['Last record', time(view.recordedAt)],
          ...(live?.url === undefined ? [] : [['Workflow', <WorkflowLink url={live.url} />] as const]),
        ]}
      />
      {live && <Controls view={view} live={live} refresh={refresh} />}
      <Warnings of={view.warnings} />
      <h2>Schedule</h2>
      <Schedule bands={view.bands} events={events} />
      {report === undefined && view.steps.length > 1 && <Compare view={view} />}
      <Events events={events} />
      {view.rates.length > 0 && <BeforeAfter rates={view.rates} />}
      <h2>Steps</h2>
      <p class="bar">
        {latest && <ResourceLink to={pathOf(view.id, latest.step)}>latest step ({latest.step})</ResourceLink>}
        {report === undefined && (
          <>
            <a href={link('runs', view.id, 'problems')}>problems over time</a>
            <a href={link('runs', view.id, 'archive')}>archive of faulty programs</a>
          </>
        )}
      </p>
      {report && <LeftOut limit={report.rolloutBytes} shown={shown.length} of={view.steps.length} />}
      <Details
        summary={`${view.steps.length} ${view.steps.length === 1 ? 'step' : 'steps'}${report ? '' : ' with rollouts'}`}
      >
        {() => <StepTable run={view.id} steps={view.steps} />}
      </Details>
      <p class="muted hint">
        {shown.length > 0 && 'Click a point to see the rollouts of its step. '}
        Drag to zoom in, double-click to see everything. A shade is the 95 % interval of a mean over the problems of the
        step.
      </p>
      {groups.map((group) => (
        <section key={group}>
          <h2>{group}</h2>
          <div class="charts">
            {view.charts
              .filter((chart) => chart.group === group)
              .map((chart) => (
                <RunChart key={chart.id} chart={chart} view={view} events={events} />
              ))}
          </div>
        </section>
      ))}
      {view.example && <Example of={view.example} />}
      <h2>Details</h2>
      <Details summary={`${view.checkpoints.length} checkpoints`}>{() => <Checkpoints view={view} />}</Details>
      <Details summary="Provenance">
        {() => (
          <dl class="facts">
            {view.facts.map(({ name, value }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{visible(value)}</dd>
              </div>
            ))}
          </dl>
        )}
      </Details>
      <Details summary="Configuration">
        {() => <LongText label="Configuration" text={JSON.stringify(view.config, null, 2)} />}
      </Details>
    </>
  );
}

const pathOf = (run: string, step: number) => ['runs', run, 'steps', step];

function LeftOut({ limit, shown, of }: { limit: number; shown: number; of: number }) {
  return (
    <p class="muted">
      This report has the rollouts of {shown} of {of} steps: the newest, up to {limit / 1e6} MB. Trained tokens,
      problems over time and the archive are left out. <code>npx gauntlet dashboard</code> shows all of them.
    </p>
  );
}

/** A point of an evaluation or of the warm start has no rollouts to open. */
function RunChart({ chart, view, events }: { chart: Chart; view: RunView; events: RunEvent[] }) {
  const open = (step: number): void => {
    const path = pathOf(view.id, step);
    if (view.steps.some((row) => row.step === step) && source.has(resource(...path))) location.hash = link(...path);
  };
  return <LineChart chart={chart} bands={view.bands} events={events} onPick={open} />;
}

function Warnings({ of: warnings }: { of: RunView['warnings'] }) {
  if (warnings.length === 0) return null;
  return (
    <>
      <h2>Warnings</h2>
      <ul class="warnings">
        {warnings.map(({ text }) => (
          <li key={text}>{visible(text)}</li>
        ))}
      </ul>
    </>
  );
}

const WorkflowLink = ({ url }: { url: string }) => (
  <a href={url} target="_blank" rel="noreferrer">
    in Temporal
  </a>
);

/** Each phase is as wide as it has updates, and filled as far as the run has come. Lines mark requests and failures. */
function Schedule({ bands, events }: { bands: Band[]; events: RunEvent[] }) {
  const total = bands.at(-1)?.end ?? 0;
  const stages = [...new Set(bands.map(({ stage }) => stage))];
  return (
    <>
      <ol class="schedule" aria-label="Stages and their phases">
        {stages.map((stage) => {
          const own = bands.filter((band) => band.stage === stage);
          const length = own.reduce((sum, { start, end }) => sum + end - start, 0);
          return (
            <li key={stage} style={{ flexGrow: length }}>
              <span class="name">{stageName(stage)}</span>
              <ol>
                {own.map(({ phase, start, end, done }) => (
                  <li
                    key={phase}
                    class={`phase ${phase}`}
                    style={{ flexGrow: end - start }}
                    title={`${stageName(stage)}, ${phase}: ${done} of ${end - start} updates`}
                  >
                    <span class="unseen">
                      {phase}: {done} of {end - start} updates
                    </span>
                    <span class="done" style={{ width: `${(100 * done) / (end - start)}%` }} />
                    <span class="count" aria-hidden="true">
                      {end - start}
                    </span>
                    {events
                      .filter(({ step }) => step >= start && (step < end || (step === end && end === total)))
                      .map(({ step, kind, at }) => (
                        <span
                          key={`${at} ${kind}`}
                          class="mark-line"
                          title={`${kind} after step ${step}`}
                          style={{ left: `${(100 * (step - start)) / (end - start)}%` }}
                        />
                      ))}
                  </li>
                ))}
              </ol>
            </li>
          );
        })}
      </ol>
      <p class="muted key">
        {['warm-start', 'discriminator', 'generator', 'alternating']
          .filter((phase) => bands.some((band) => band.phase === phase))
          .map((phase) => (
            <span key={phase}>
              <span class={`swatch ${phase}`} /> {phase}
            </span>
          ))}
      </p>
    </>
  );
}

function Events({ events }: { events: RunEvent[] }) {
  if (events.length === 0) return null;
  return (
    <>
      <h2>Control requests, failures and alarms</h2>
      <ul class="events">
        {events.map(({ step, kind, text, at }) => (
          <li key={`${at} ${kind} ${text}`}>
            <strong>{kind}</strong> after step {step} {visible(text)}{' '}
            <span class="muted">{at && time(Date.parse(at))}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function BeforeAfter({ rates }: { rates: RateRow[] }) {
  const hasWarmStart = rates.some(({ warmStart }) => warmStart !== undefined);
  return (
    <>
      <h2>Result on held-out problems</h2>
      <Tiles
        of={rates.map(({ title, before, warmStart, after }) => {
          const values = hasWarmStart ? [before, warmStart, after] : [before, after];
          return [title, values.map(percent).join(' → ')] as const;
        })}
      />
      <p class="muted">
        Before training{hasWarmStart && ', after the warm start'} and with the best checkpoint, on problems that
        training never saw.
      </p>
    </>
  );
}

function StepTable({ run, steps }: { run: string; steps: StepRow[] }) {
  return (
    <Scroll label="Steps">
      <table>
        <thead>
          <tr>
            {['Step', 'Role', 'Stage', 'Phase', 'Epoch'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
            {['Reward', 'Tests passed', 'Valid tests', 'Sequences'].map((title) => (
              <th key={title} scope="col" class="number">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map(({ step, role, stage, phase, epoch, reward, passRate, validity, rows }) => (
            <tr key={step}>
              <th scope="row">
                <ResourceLink to={pathOf(run, step)}>{step}</ResourceLink>
              </th>
              <td>{role}</td>
              <td>{stage}</td>
              <td>{phase}</td>
              <td>{epoch}</td>
              <td class="number">{decimal(reward)}</td>
              <td class="number">{percent(passRate)}</td>
              <td class="number">{percent(validity)}</td>
              <td class="number">{rows}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Checkpoints({ view }: { view: RunView }) {
  return (
    <>
      <p class="muted">
        The score is measured on validation problems: 0.7 × (mean share of passed tests − 0.5) + 0.3 × share of valid
        tests.
      </p>
      <Scroll label="Checkpoints">
        <table>
          <thead>
            <tr>
              <th scope="col">Checkpoint</th>
              <th scope="col" class="number">
                Step
              </th>
              <th scope="col" class="number">
                Score
              </th>
              <th scope="col">Digest</th>
            </tr>
          </thead>
          <tbody>
            {view.checkpoints.map(({ name, step, score, digest }) => (
              <tr key={name}>
                <th scope="row">
                  {name}
                  {name === view.best && ' (best)'}
                </th>
                <td class="number">{step}</td>
                <td class="number">{decimal(score)}</td>
                <td>
                  <code>{digest.slice(7, 19)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}
