// Two runs, or two ranges of steps, compared: what differs in their inputs, where their samples and rewards differ first, and their curves.
import type { DiffView } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, stageName, visible } from '../format.js';
import { Crumbs, LongText, Scroll, Show } from '../parts/common.js';
import { LineChart } from '../parts/LineChart.js';
import { link } from '../route.js';
import { resource } from '../source.js';

export function DiffPage({ sides }: { sides: string[] }) {
  const loaded = useResource<DiffView>(resource('diff', ...sides));
  return (
    <>
      <Crumbs />
      <Show of={loaded}>{(view) => <Diff view={view} />}</Show>
    </>
  );
}

function Diff({ view }: { view: DiffView }) {
  const { runs, names, facts, charts, commonSteps } = view;
  const groups = [...new Set(charts.map(({ group }) => group))];
  return (
    <>
      <h1>
        {names[0]} and {names[1]}
      </h1>
      {commonSteps !== undefined && (
        <>
          <h2>First differences</h2>
          <p class="muted">Compared are the {commonSteps} steps that both runs have.</p>
          <Tokens view={view} />
          <Reward view={view} />
        </>
      )}
      <h2>Inputs that differ</h2>
      {facts.length === 0 ? (
        <p>None.</p>
      ) : (
        <Scroll label="Inputs that differ">
          <table>
            <thead>
              <tr>
                <th scope="col">Input</th>
                {names.map((name, i) => (
                  <th key={name} scope="col">
                    <a href={link('runs', runs[i]!)}>{name}</a>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {facts.map(({ name, values }) => (
                <tr key={name}>
                  <th scope="row" class="key">
                    {name}
                  </th>
                  <td>{visible(values[0])}</td>
                  <td>{visible(values[1])}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {groups.map((group) => (
        <section key={group}>
          <h2>{group}</h2>
          {group === groups[0] && <p class="muted">Dashed: {names[1]}.</p>}
          <div class="charts">
            {charts
              .filter((chart) => chart.group === group)
              .map((chart) => (
                <LineChart key={chart.id} chart={chart} bands={[]} />
              ))}
          </div>
        </section>
      ))}
    </>
  );
}

function Problems({ one, two }: { one: string | undefined; two: [string, string] | undefined }) {
  if (two) return <> (problems {two.map(visible).join(' and ')})</>;
  return one === undefined ? null : <> for {visible(one)}</>;
}

function Tokens({ view: { runs, tokens, commonSteps } }: { view: DiffView }) {
  if (tokens === undefined) return commonSteps === 0 ? null : <p>All sampled tokens of these steps are equal.</p>;
  const { step, role, what, problemId, problems, sample, stage, token, ids, texts } = tokens;
  return (
    <>
      <h3>
        Tokens: step {step}
        {role && `, ${role}`}
      </h3>
      <p>
        {what}
        {token !== undefined && ` (from token ${token} on: ids ${ids?.map((id) => id ?? 'none').join(' and ')})`}
        {stage !== undefined && ` in ${stageName(stage)}`}
        {sample !== undefined && ` of sample ${sample}`}
        <Problems one={problemId} two={problems} />
      </p>
      <p class="bar">
        {runs.map((run) => (
          <a key={run} href={link('runs', run, 'steps', step)}>
            step {step} of {run}
          </a>
        ))}
      </p>
      {texts && (
        <Scroll label="Texts side by side">
          <div class="side">
            {runs.map((run, i) => (
              <article key={run}>
                <h3>{run}</h3>
                <LongText label={`Text of ${run}`} text={texts[i]!} />
              </article>
            ))}
          </div>
        </Scroll>
      )}
    </>
  );
}

function Reward({ view: { runs, reward, commonSteps } }: { view: DiffView }) {
  if (reward === undefined) return commonSteps === 0 ? null : <p>All rewards of these steps are equal.</p>;
  const { step, what, group, problemId, problems, sample, values } = reward;
  return (
    <>
      <h3>Rewards: step {step}</h3>
      <p>
        {what}
        {sample !== undefined && ` of sample ${sample}`}
        <Problems one={problemId} two={problems} />
        {values && `: ${values.map((value) => decimal(value)).join(' and ')}`}
      </p>
      {group !== undefined && (
        <p class="bar">
          {runs.map((run) => (
            <a key={run} href={link('runs', run, 'steps', step, 'groups', group)}>
              this group of {run}
            </a>
          ))}
        </p>
      )}
    </>
  );
}
