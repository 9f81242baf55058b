// A group: its samples as columns, the verdict of each test on each sample, and the chain of the chosen sample.
import { useState } from 'preact/hooks';
import type { GroupView } from '../../api.js';
import { useResource } from '../data.js';
import { signed, stageName, visible } from '../format.js';
import { Card, Details, LongText, Scroll, Show } from '../parts/common.js';
import { link } from '../route.js';
import { resource, source } from '../source.js';
import { Chain, outcomeClass, programChain, Reward, TestCode, VerdictMark, WrittenTests } from './Chain.js';
import { Tokens } from './Tokens.js';

interface Props {
  run: string;
  step: number;
  index: number;
  chosen: number; // the number of the chosen sample
}

export function Group(props: Props) {
  const { run, step, index } = props;
  const loaded = useResource<GroupView>(resource('runs', run, 'steps', step, 'groups', index));
  return <Show of={loaded}>{(view) => <Contents view={view} {...props} />}</Show>;
}

function Contents({ view, chosen }: Props & { view: GroupView }) {
  const { problem, programs, turns, suite, role } = view;
  const isGenerator = role === 'generator';
  const program = (isGenerator ? programs.find(({ sample }) => sample === chosen) : programs[0]) ?? programs[0];
  const own = turns.filter((turn) => (isGenerator ? turn.chainSample === program?.sample : turn.sample === chosen));
  const tokens = resource('runs', view.run, 'steps', view.step, 'groups', view.index, 'tokens');
  return (
    <>
      <Card title={visible(problem.id)}>
        <LongText label="Problem" text={`${problem.description}\n\n${problem.signature}`} />
        <div class="bar">
          <span class="muted">{visible(problem.difficulty)}</span>
          {source.has(resource('runs', view.run, 'problems')) && (
            <a href={`${link('runs', view.run, 'problems')}?id=${encodeURIComponent(problem.id)}`}>
              this problem over time
            </a>
          )}
          {problem.reference !== undefined && (
            <Details summary="Reference solution">
              {() => <LongText label="Reference" text={problem.reference!} />}
            </Details>
          )}
        </div>
        {isGenerator ? <Programs view={view} chosen={program?.sample} /> : <Turns view={view} chosen={chosen} />}
      </Card>
      {program && (
        <Card title={isGenerator ? `Sample ${program.sample}: its chain` : 'The chain that the tests are written for'}>
          <Chain of={programChain(program, suite, own)} />
        </Card>
      )}
      {source.has(tokens) && (
        <Details summary="Trained sequences, token by token">{() => <Tokens path={tokens} />}</Details>
      )}
    </>
  );
}

const linkTo = ({ run, step, index }: GroupView, sample: number): string =>
  `${link('runs', run, 'steps', step, 'groups', index)}?sample=${sample}`;

/** Shows tests as rows and programs as columns. The tests that most programs fail come first. */
function Programs({ view, chosen }: { view: GroupView; chosen: number | undefined }) {
  const { programs, suite } = view;
  const failures = (test: number): number => programs.filter(({ verdicts }) => verdicts[test] !== 'pass').length;
  const order = suite.map((_, test) => test).sort((a, b) => failures(b) - failures(a));
  const failed = order.filter((test) => failures(test) > 0);
  const [isWhole, setWhole] = useState(false);
  return (
    <Scroll label="Tests of the programs">
      <table class="matrix">
        <thead>
          <tr>
            <th scope="col">Test</th>
            {programs.map(({ sample, reward, outcome = '' }) => (
              <th key={sample} scope="col">
                <a href={linkTo(view, sample)} aria-current={sample === chosen ? 'true' : undefined}>
                  sample {sample}
                </a>
                {reward !== undefined && (
                  <span class={`mark ${outcomeClass(outcome, reward)}`}>
                    {outcome} {signed(reward)}
                  </span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(isWhole ? order : failed).map((test) => (
            <tr key={test}>
              <th scope="row">
                <TestCode test={suite[test]!} />
                {suite[test]!.origin !== 'generated' && <span class="muted"> {suite[test]!.origin}</span>}
              </th>
              {programs.map(({ sample, verdicts }) => (
                <td key={sample} class={sample === chosen ? 'chosen' : ''}>
                  <VerdictMark verdict={verdicts[test]} short />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {failed.length < suite.length && (
        <button type="button" onClick={() => setWhole(!isWhole)}>
          {isWhole
            ? 'Show failed tests only'
            : `Show the ${suite.length - failed.length} tests that every program passes`}
        </button>
      )}
    </Scroll>
  );
}

/** Shows the samples of the discriminator as columns. */
function Turns({ view, chosen }: { view: GroupView; chosen: number }) {
  return (
    <Scroll label="Samples side by side">
      <div class="side">
        {view.turns.map((turn) => (
          <article key={turn.sample} class={turn.sample === chosen ? 'chosen' : ''}>
            <h3>
              <a href={linkTo(view, turn.sample)} aria-current={turn.sample === chosen ? 'true' : undefined}>
                sample {turn.sample}
              </a>
              , tests for {stageName(turn.stage)}
            </h3>
            <WrittenTests of={turn} />
            <Reward of={turn} whose="tests" />
            <Details summary={`Answer${turn.truncated ? ' (cut at the length limit)' : ''}`}>
              {() => <LongText label="Answer" text={turn.text} />}
            </Details>
          </article>
        ))}
      </div>
    </Scroll>
  );
}
