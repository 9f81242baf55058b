// The rollouts of one step: a histogram of rewards that filters the samples, the hardest tests, and all groups.
import { useState } from 'preact/hooks';
import type { GroupSummary, SampleSummary, StepView } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, percent, signed, stageName, visible } from '../format.js';
import { Crumbs, Details, ResourceLink, Scroll, Show, Tiles } from '../parts/common.js';
import { bins, Histogram, isWithin, type Range } from '../parts/Histogram.js';
import { link } from '../route.js';
import { resource, source } from '../source.js';
import { Group } from './Group.js';

const PAGE = 40; // groups

export function StepPage({ run, step, group }: { run: string; step: string; group: number | undefined }) {
  const loaded = useResource<StepView>(resource('runs', run, 'steps', step));
  return (
    <>
      <Crumbs>
        <a href={link('runs', run)}>{run}</a>
        {group !== undefined && <a href={link('runs', run, 'steps', step)}>Step {step}</a>}
      </Crumbs>
      <Show of={loaded}>{(view) => <Step view={view} group={group} />}</Show>
    </>
  );
}

function Step({ view, group }: { view: StepView; group: number | undefined }) {
  const neighbour = (step: number | undefined, text: string) =>
    step !== undefined &&
    source.has(resource('runs', view.run, 'steps', step)) && <a href={link('runs', view.run, 'steps', step)}>{text}</a>;
  return (
    <>
      <h1>
        Step {view.step}: {view.role}
      </h1>
      <p class="bar">
        <span class="muted">
          {stageName(view.stage)}, {view.phase}, epoch {view.epoch}
        </span>
        {neighbour(view.previous, '← previous step')}
        {neighbour(view.next, 'next step →')}
      </p>
      {group === undefined ? <Overview view={view} /> : <OneGroup view={view} index={group} />}
    </>
  );
}

const pathOf = ({ run, step }: StepView, group: number) => ['runs', run, 'steps', step, 'groups', group];

function OneGroup({ view, index }: { view: StepView; index: number }) {
  const to = (group: number, text: string) =>
    view.groups[group] &&
    source.has(resource(...pathOf(view, group))) && <a href={link(...pathOf(view, group))}>{text}</a>;
  return (
    <>
      <p class="bar">
        <span class="muted">
          group {index + 1} of {view.groups.length}
        </span>
        {to(index - 1, '← previous group')}
        {to(index + 1, 'next group →')}
      </p>
      <Group run={view.run} step={view.step} index={index} />
    </>
  );
}

function Overview({ view }: { view: StepView }) {
  const [range, setRange] = useState<Range>();
  const [count, setCount] = useState(PAGE);
  const rewards = view.groups.flatMap(({ samples }) => samples.map(({ reward }) => reward));
  const shown = view.groups.filter(({ samples }) => samples.some(({ reward }) => isWithin(reward, range)));
  const leftOut = view.groups.filter(({ index }) => !source.has(resource(...pathOf(view, index)))).length;
  return (
    <>
      <Tiles
        of={[
          ['Mean reward', decimal(view.reward)],
          ['Tests passed', percent(view.passRate)],
          ['Valid tests', percent(view.validity)],
          ['Samples', rewards.length],
          ['Trained sequences', view.rows],
        ]}
      />
      <Details summary="All metrics of the step">
        {() => (
          <dl class="facts">
            {view.metrics.map(({ name, value }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{decimal(value, 5)}</dd>
              </div>
            ))}
          </dl>
        )}
      </Details>
      <h2>Rewards</h2>
      <Histogram bins={bins(rewards)} chosen={range} onChoose={setRange} />
      {view.hardest.length > 0 && <Hardest view={view} />}
      <h2>Groups</h2>
      <p class="muted" aria-live="polite">
        {shown.length} of {view.groups.length} groups
        {range && `, with a reward from ${decimal(range.from)} to ${decimal(range.to)}`}
        {leftOut > 0 && `; the report leaves out the texts of ${leftOut}`}
      </p>
      <ul class="groups">
        {shown.slice(0, count).map((group) => (
          <GroupRow key={group.index} view={view} group={group} range={range} />
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

function GroupRow({ view, group, range }: { view: StepView; group: GroupSummary; range: Range | undefined }) {
  return (
    <li>
      <ResourceLink to={pathOf(view, group.index)}>{visible(group.problemId)}</ResourceLink>
      <span class="muted">
        {group.stage !== undefined && ` tests for stage ${group.stage},`} {group.tests} tests in the suite
      </span>
      <ol class="samples">
        {group.samples.map((sample) => (
          <Sample key={sample.sample} sample={sample} isShown={isWithin(sample.reward, range)} role={view.role} />
        ))}
      </ol>
    </li>
  );
}

function Sample({ sample, isShown, role }: { sample: SampleSummary; isShown: boolean; role: StepView['role'] }) {
  const { reward, advantage, good, of, empty } = sample;
  const what = role === 'generator' ? 'passed' : 'valid';
  const quality = empty || good === 0 ? 'bad' : good === of ? 'good' : 'mixed';
  return (
    <li class={`sample ${quality} ${isShown ? '' : 'faint'}`}>
      <strong>{decimal(reward)}</strong>
      <span>{empty ? 'nothing to run' : `${good}/${of} ${what}`}</span>
      {advantage !== undefined && <span class="muted">advantage {signed(advantage)}</span>}
    </li>
  );
}

function Hardest({ view }: { view: StepView }) {
  return (
    <>
      <h2>Hardest tests</h2>
      <Scroll label="Hardest tests">
        <table>
          <thead>
            <tr>
              <th scope="col">Problem</th>
              <th scope="col">Test</th>
              <th scope="col">Expected</th>
              <th scope="col">Origin</th>
              <th scope="col" class="number">
                Failed by
              </th>
            </tr>
          </thead>
          <tbody>
            {view.hardest.map(({ problemId, group, call, expected, origin, failed, of }) => (
              <tr key={`${group} ${call}`}>
                <th scope="row">
                  <ResourceLink to={pathOf(view, group)}>{visible(problemId)}</ResourceLink>
                </th>
                <td>
                  <code>{visible(call.slice(0, 200))}</code>
                </td>
                <td>
                  <code>{visible(expected.slice(0, 200))}</code>
                </td>
                <td>{origin}</td>
                <td class="number">
                  {failed} of {of}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}
