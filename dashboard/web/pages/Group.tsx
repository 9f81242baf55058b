// One group side by side: programs with their five stages, tests and verdicts, rewards and advantages.
import type { GroupView, ProgramView, Rewarded, Role, TestTurnView, Verdict, WrittenTest } from '../../api.js';
import { useResource } from '../data.js';
import { signed, stageName, visible } from '../format.js';
import { Details, LongText, Scroll, Show } from '../parts/common.js';
import { link } from '../route.js';
import { resource, source } from '../source.js';
import { Tokens } from './Tokens.js';

export function Group({ run, step, index }: { run: string; step: number; index: number }) {
  const loaded = useResource<GroupView>(resource('runs', run, 'steps', step, 'groups', index));
  return <Show of={loaded}>{(view) => <Contents view={view} />}</Show>;
}

function Contents({ view }: { view: GroupView }) {
  const { problem, programs, turns, suite, role } = view;
  const isGenerator = role === 'generator';
  return (
    <>
      <h2>{visible(problem.id)}</h2>
      <p class="bar">
        <span class="muted">{visible(problem.difficulty)}</span>
        {source.has(resource('runs', view.run, 'problems')) && (
          <a href={`${link('runs', view.run, 'problems')}?id=${encodeURIComponent(problem.id)}`}>
            this problem over time
          </a>
        )}
      </p>
      <LongText label="Problem" text={`${problem.description}\n\n${problem.signature}`} />
      {problem.reference !== undefined && (
        <Details summary="Reference solution">{() => <LongText label="Reference" text={problem.reference!} />}</Details>
      )}
      <h2>{isGenerator ? 'Programs' : 'Program that the tests are written for'}</h2>
      <Scroll label="Programs side by side">
        <div class="side">
          {programs.map((program) => (
            <Program key={program.sample} program={program} suite={suite} />
          ))}
        </div>
      </Scroll>
      <h2>{isGenerator ? 'Tests written for these programs' : 'Samples of tests'}</h2>
      {turns.length === 0 && <p class="muted">None.</p>}
      <Scroll label="Tests side by side">
        <div class="side">
          {turns.map((turn, i) => (
            <Turn key={i} turn={turn} />
          ))}
        </div>
      </Scroll>
      {source.has(tokensOf(view)) && (
        <>
          <h2>Tokens</h2>
          <Details summary="Trained sequences, token by token">{() => <Tokens path={tokensOf(view)} />}</Details>
        </>
      )}
    </>
  );
}

const tokensOf = ({ run, step, index }: GroupView): string =>
  resource('runs', run, 'steps', step, 'groups', index, 'tokens');

function Program({ program, suite }: { program: ProgramView; suite: GroupView['suite'] }) {
  return (
    <article>
      <h3>Sample {program.sample}</h3>
      <Reward of={program} />
      <h4>Execution</h4>
      <ul class="tests">
        {suite.map(({ call, expected, origin }, i) => (
          <li key={i}>
            <VerdictMark verdict={program.verdicts[i]} />{' '}
            {origin !== 'baseline' && <span class="origin">{origin} </span>}
            <code>
              {clipped(call)} → {clipped(expected)}
            </code>
          </li>
        ))}
      </ul>
      <h4>Program</h4>
      {program.program === '' ? <p class="muted">No program.</p> : <LongText label="Program" text={program.program} />}
      <h4>Stages</h4>
      {program.stages.map(({ stage, title, repairs, text, truncated }, i) => (
        <Details
          key={i}
          summary={`${stageName(stage)}: ${title}${repairs ? ', again' : ''}${truncated ? ' (cut at the length limit)' : ''}`}
        >
          {() => <LongText label={stageName(stage)} text={text} />}
        </Details>
      ))}
    </article>
  );
}

function Turn({ turn }: { turn: TestTurnView }) {
  return (
    <article>
      <h3>
        {turn.reward === undefined ? `For sample ${turn.chainSample}` : `Sample ${turn.sample}`},{' '}
        {stageName(turn.stage)}
      </h3>
      <Reward of={turn} />
      <WrittenTests of={turn} />
      <Details summary={`Answer${turn.truncated ? ' (cut at the length limit)' : ''}`}>
        {() => <LongText label="Answer" text={turn.text} />}
      </Details>
    </article>
  );
}

export function WrittenTests({ of: { tests, lost } }: { of: Pick<TestTurnView, 'tests' | 'lost'> }) {
  return (
    <ul class="tests">
      {tests.map((test, i) => (
        <li key={i}>
          <Outcome test={test} />{' '}
          <code>
            {clipped(test.call)} → {clipped(test.expected)}
          </code>
        </li>
      ))}
      {lost > 0 && (
        <li>
          <span class="mark bad">✗ {lost} lost</span> unreadable or missing
        </li>
      )}
    </ul>
  );
}

export function Reward({ of, whose }: { of: Rewarded; whose?: Role }) {
  const { reward, outcome, terms = [], advantage } = of;
  if (reward === undefined) return null;
  return (
    <p class="reward">
      reward{whose && ` of the ${whose}`} <strong>{signed(reward)}</strong>
      {outcome !== undefined && ` (${outcome})`}
      {terms.length > 1 && ` = ${terms.map(({ name, value }) => `${name} ${signed(value)}`).join(', ')}`}
      {advantage !== undefined && (
        <>
          <br />
          advantage <strong>{signed(advantage)}</strong>
        </>
      )}
    </p>
  );
}

const VERDICTS: Readonly<Record<Verdict, [mark: string, quality: string]>> = {
  pass: ['✓ pass', 'good'],
  fail: ['✗ fail', 'bad'],
  error: ['! error', 'bad'],
  timeout: ['⧗ timeout', 'mixed'],
  memory: ['! memory', 'mixed'],
  output: ['! output', 'mixed'],
};

export function VerdictMark({ verdict }: { verdict: Verdict | undefined }) {
  const [text, quality] = verdict === undefined ? ['– not run', ''] : VERDICTS[verdict];
  return <span class={`mark ${quality}`}>{text}</span>;
}

const OUTCOMES: Readonly<Record<WrittenTest['outcome'], [mark: string, quality: string]>> = {
  caught: ['★ caught', 'caught'],
  valid: ['✓ valid', 'good'],
  corrected: ['~ corrected', 'mixed'],
  invalid: ['✗ invalid', 'bad'],
};

function Outcome({ test }: { test: WrittenTest }) {
  const [text, quality] = OUTCOMES[test.outcome];
  return <span class={`mark ${quality}`}>{text}</span>;
}

export const clipped = (text: string): string => visible(text.length > 300 ? `${text.slice(0, 300)} …` : text);
