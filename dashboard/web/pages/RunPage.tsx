// The page of one run: its state, its controls, and tabs.
import type { ComponentChildren } from 'preact';
import type { LiveView, RunView } from '../../api.js';
import { useResource } from '../data.js';
import { duration, modelName, phaseName, visible } from '../format.js';
import { useLive, useVersion } from '../live.js';
import { Show } from '../parts/common.js';
import { link } from '../route.js';
import { resource, source } from '../source.js';
import { Controls } from './Controls.js';
import { Metrics } from './Metrics.js';
import { Overview } from './Overview.js';
import { ProblemsPage } from './ProblemsPage.js';
import { Rollouts } from './Rollouts.js';
import { Settings } from './Settings.js';

interface Props {
  run: string;
  path: string[];
  query: URLSearchParams;
}

const TABS = { '': 'Overview', steps: 'Rollouts', problems: 'Problems', metrics: 'Metrics', settings: 'Settings' };

export function RunPage({ run, path, query }: Props) {
  const loaded = useResource<RunView>(resource('runs', run), useVersion(run));
  const { live, refresh } = useLive(run);
  return (
    <>
      <h1>{run}</h1>
      <Show of={loaded}>
        {(view) => (
          <>
            <State view={view} live={live} />
            {live && <Controls run={run} live={live} refresh={refresh} />}
            <Tabs view={view} tab={path[0] ?? ''} />
            <Tab view={view} live={live} path={path} query={query} />
          </>
        )}
      </Show>
    </>
  );
}

function State({ view, live }: { view: RunView; live: LiveView | undefined }) {
  const state = live?.state ?? view.state;
  const texts: ComponentChildren[] = [
    view.phase === undefined ? 'no step yet' : phaseName(view.stage, view.phase),
    `step ${view.step} of ${view.totalSteps}`,
    view.secondsLeft === undefined ? `took ${duration(view.seconds)}` : `${duration(view.secondsLeft)} left`,
    visible(modelName(view.model)),
    ...(live?.url === undefined ? [] : [<WorkflowLink url={live.url} />]),
  ];
  return (
    <p class="status">
      <span class={`state ${state}`}>{state}</span>
      {texts.map((text, i) => (
        <span key={i} class="muted">
          {text}
        </span>
      ))}
    </p>
  );
}

const WorkflowLink = ({ url }: { url: string }) => (
  <a href={url} target="_blank" rel="noreferrer">
    in Temporal
  </a>
);

/** Shows the tabs. Leaves out the problems in a report, and the rollouts before the first step. */
function Tabs({ view: { id, steps }, tab }: { view: RunView; tab: string }) {
  const latest = steps.at(-1)?.step;
  const isShown = (name: string): boolean =>
    name === 'problems' ? source.has(resource('runs', id, name)) : name !== 'steps' || latest !== undefined;
  return (
    <nav class="tabs" aria-label="Views of the run">
      {Object.entries(TABS)
        .filter(([name]) => isShown(name))
        .map(([name, title]) => {
          const to = name === '' ? [] : name === 'steps' ? [name, latest!] : [name];
          return (
            <a key={name} href={link('runs', id, ...to)} aria-current={name === tab ? 'page' : undefined}>
              {title}
            </a>
          );
        })}
    </nav>
  );
}

type TabProps = Pick<Props, 'path' | 'query'> & { view: RunView; live: LiveView | undefined };

function Tab({ view, live, path: [name, step, of, group], query }: TabProps) {
  if (name === undefined) return <Overview view={view} failure={live?.failure} />;
  if (name === 'metrics') return <Metrics view={view} />;
  if (name === 'settings') return <Settings view={view} />;
  if (name === 'problems') return <ProblemsPage view={view} shown={query.get('id') ?? undefined} />;
  if (name === 'steps' && step !== undefined)
    return <Rollouts view={view} step={step} group={of === 'groups' ? Number(group) : undefined} query={query} />;
  return <p>There is no such page.</p>;
}
