// One chain in full: the answers of all stages, the tests that were written for them, and the rewards of both roles.
import type { ExampleStage, ExampleView } from '../../api.js';
import { stageName, visible } from '../format.js';
import { LongText } from '../parts/common.js';
import { clipped, Reward, VerdictMark, WrittenTests } from './Group.js';

export function Example({ of: example }: { of: ExampleView }) {
  const { by, problemId, description, signature, stages, given } = example;
  return (
    <>
      <h2>One chain of reasoning</h2>
      <p class="muted">
        Problem {visible(problemId)} of the test split{by !== undefined && `, by ${by}`}. The generator sees no
        generated and no hidden test.
      </p>
      <LongText label="Problem" text={`${description}\n\n${signature}`} />
      {stages.map((stage, i) => (
        <Stage key={i} stage={stage} />
      ))}
      <section class="stage">
        <h3>Given tests</h3>
        <ul class="tests">
          {given.map(({ call, expected, verdict }, i) => (
            <li key={i}>
              <VerdictMark verdict={verdict} />{' '}
              <code>
                {clipped(call)} → {clipped(expected)}
              </code>
            </li>
          ))}
        </ul>
        <Reward of={example} whose="generator" />
      </section>
    </>
  );
}

function Stage({ stage }: { stage: ExampleStage }) {
  const { repairs, tests, lost } = stage;
  const title = `${stageName(stage.stage)}: ${stage.title}`;
  return (
    <section class="stage">
      <h3>{title}</h3>
      {repairs && (
        <p>
          Written again, after a failed test: <code>{clipped(repairs.call)}</code> is{' '}
          <code>{clipped(repairs.expected)}</code>, not <code>{clipped(repairs.got)}</code>.
        </p>
      )}
      <LongText label={title} text={stage.text} />
      {tests.length + lost > 0 && (
        <>
          <WrittenTests of={stage} />
          <Reward of={stage} whose="discriminator" />
        </>
      )}
    </section>
  );
}
