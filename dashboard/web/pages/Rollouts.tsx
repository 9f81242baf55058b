// The tab with the rollouts of a step: its samples, filtered by outcome, with links to each group.
import { useState } from 'preact/hooks';
import type { GroupSummary, RunView, SampleSummary, StepView } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, percent, signed, stageName, visible } from '../format.js';
import { ResourceLink, Search, Show } from '../parts/common.js';
import { link } from '../route.js';
import { resource, source } from '../source.js';
import { outcomeClass } from './Chain.js';
import { Group } from './Group.js';

const PAGE = 40; // the number of groups that are added at a time

const isBad = ({ outcome }: SampleSummary): boolean => outcomeClass(outcome) === 'bad' || outcome === 'timeout';

interface Props {
  view: RunView;
  step: string;
  group: number | undefined;
  query: URLSearchParams;
}

export function Rollouts({ view, step, group, query }: Props) {
  const loaded = useResource<StepView>(resource('runs', view.id, 'steps', step));
  return (
    <Show of={loaded}>
      {(shown) => (
        <>
          <StepBar step={shown} />
          {group === undefined ? (
            <Samples key={`${step} ${query}`} view={shown} outcome={query.get('outcome') ?? ''} />
          ) : (
            <OneGroup view={shown} index={group} sample={query.get('sample')} />
          )}
        </>
      )}
    </Show>
  );
}

const pathOf = ({ run, step }: StepView, group: number) => ['runs', run, 'steps', step, 'groups', group];

function StepBar({ step: { run, step, role, previous, next, ...shown } }: { step: StepView }) {
  const to = (number: number) => ['runs', run, 'steps', number];
  const neighbour = (number: number | undefined, text: string) =>
    number !== undefined && source.has(resource(...to(number))) && <a href={link(...to(number))}>{text}</a>;
  return (
    <>
      <h2>
        <a href={link(...to(step))}>
          Step {step}: {role}
        </a>
      </h2>
      <p class="bar">
        {neighbour(previous, '← previous step')}
        {neighbour(next, 'next step →')}
        <span class="muted">
          {stageName(shown.stage)}, {shown.phase}, epoch {shown.epoch} · mean reward {decimal(shown.reward)} · tests
          that the {role === 'generator' ? '' : 'attacked '}programs pass: {percent(shown.passRate)} · valid tests{' '}
          {percent(shown.validity)} · sequences trained: {shown.rows}
        </span>
      </p>
    </>
  );
}

/** Finds the first bad sample after the given sample, in the order of the groups. */
function nextBad({ groups }: StepView, group: number, sample: number): [group: number, sample: number] | undefined {
  for (const { index, samples } of groups.slice(Math.max(0, group))) {
    const found = samples.find((one) => isBad(one) && (index > group || one.sample > sample));
    if (found) return [index, found.sample];
  }
  return undefined;
}

const NEXT = { generator: 'next failing program', discriminator: 'next sample with bad tests' };

function NextBad({ view, group, sample }: { view: StepView; group: number; sample: number }) {
  const next = nextBad(view, group, sample);
  if (next === undefined || !source.has(resource(...pathOf(view, next[0])))) return null;
  return (
    <a class="button" href={`${link(...pathOf(view, next[0]))}?sample=${next[1]}`}>
      {NEXT[view.role]} →
    </a>
  );
}

function OneGroup({ view, index, sample }: { view: StepView; index: number; sample: string | null }) {
  const { samples = [] } = view.groups[index] ?? {};
  const first = samples.find(isBad) ?? samples[0];
  const chosen = sample === null ? (first?.sample ?? 0) : Number(sample);
  const to = (group: number, text: string) =>
    view.groups[group] &&
    source.has(resource(...pathOf(view, group))) && <a href={link(...pathOf(view, group))}>{text}</a>;
  return (
    <>
      <p class="bar">
        {to(index - 1, '← previous group')}
        <span class="muted">
          group {index + 1} of {view.groups.length}
        </span>
        {to(index + 1, 'next group →')}
        <NextBad view={view} group={index} sample={chosen} />
      </p>
      <Group run={view.run} step={view.step} index={index} chosen={chosen} />
    </>
  );
}

function Samples({ view, outcome: given }: { view: StepView; outcome: string }) {
  const [outcome, setOutcome] = useState(given);
  const [text, setText] = useState('');
  const [count, setCount] = useState(PAGE);
  const isShown = (sample: SampleSummary): boolean => outcome === '' || sample.outcome === outcome;
  const shown = view.groups.filter(
    ({ samples, problemId }) => samples.some(isShown) && problemId.toLowerCase().includes(text.trim().toLowerCase()),
  );
  const leftOut = view.groups.filter(({ index }) => !source.has(resource(...pathOf(view, index)))).length;
  const total = view.groups.reduce((sum, { samples }) => sum + samples.length, 0);
  return (
    <>
      <div class="bar">
        <fieldset class="chips">
          <legend class="unseen">Outcome</legend>
          {[['', total] as const, ...Object.entries(view.outcomes)].map(([name, number]) => (
            <button
              key={name}
              type="button"
              class={`chip ${name === '' ? '' : outcomeClass(name)}`}
              aria-pressed={name === outcome}
              onClick={() => setOutcome(name)}
            >
              {number} {name === '' ? 'samples' : name}
            </button>
          ))}
        </fieldset>
        <Search label="Problem" text={text} onText={setText} />
        <NextBad view={view} group={-1} sample={-1} />
        <span class="muted" aria-live="polite">
          {shown.length} of {view.groups.length} groups
          {leftOut > 0 && `; the report leaves out the texts of ${leftOut}`}
        </span>
      </div>
      <ul class="groups">
        {shown.slice(0, count).map((group) => (
          <GroupRow key={group.index} view={view} group={group} isShown={isShown} />
        ))}
      </ul>
      {shown.length > count && (
        <button type="button" onClick={() => setCount(count + PAGE)}>
          Show more groups
        </button>
      )}
    </>
  );
}

interface GroupRowProps {
  view: StepView;
  group: GroupSummary;
  isShown: (sample: SampleSummary) => boolean;
}

function GroupRow({ view, group, isShown }: GroupRowProps) {
  const path = pathOf(view, group.index);
  const what = view.role === 'generator' ? 'passed' : 'valid';
  return (
    <li>
      <p>
        <ResourceLink to={path}>{visible(group.problemId)}</ResourceLink>{' '}
        <span class="muted">
          {group.stage !== undefined && `tests for stage ${group.stage}, `}
          {group.tests} tests in the suite
        </span>
      </p>
      <ol class="samples">
        {group.samples.map((sample) => {
          const contents = (
            <>
              <strong>{signed(sample.reward)}</strong> {sample.outcome}
              <span class="muted">{sample.empty ? 'nothing to run' : `${sample.good}/${sample.of} ${what}`}</span>
            </>
          );
          const classes = `sample ${outcomeClass(sample.outcome, sample.reward)} ${isShown(sample) ? '' : 'faint'}`;
          return (
            <li key={sample.sample} class={classes}>
              {source.has(resource(...path)) ? (
                <a href={`${link(...path)}?sample=${sample.sample}`}>{contents}</a>
              ) : (
                <span>{contents}</span>
              )}
            </li>
          );
        })}
      </ol>
    </li>
  );
}
