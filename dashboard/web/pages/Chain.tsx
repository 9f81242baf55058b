// A chain of reasoning: shows its five stages from left to right, the tests below the stage that they were written for, and
// the verdicts on its program.
import type { ExampleView, GroupView, ProgramView, Rewarded, TestTurnView, Verdict, WrittenTest } from '../../api.js';
import { decimal, signed, stageName, visible } from '../format.js';
import { clipped, LongText } from '../parts/common.js';

type Turn = Pick<TestTurnView, 'tests' | 'lost'> & Rewarded;

interface Stage {
  stage: number;
  title: string;
  text: string;
  truncated?: boolean;
  turns: Turn[]; // the tests that were written for this stage
}

export interface ShownChain {
  description?: string;
  stages: Stage[];
  program: Rewarded & { tests: { call: string; expected: string; verdict: Verdict | undefined; origin: string }[] };
}

export const exampleChain = ({ description, signature, stages, given, ...rewarded }: ExampleView): ShownChain => ({
  description: `${description}\n\n${signature}`,
  stages: stages.map((stage) => ({ ...stage, turns: stage.tests.length + stage.lost > 0 ? [stage] : [] })),
  program: { ...rewarded, tests: given.map((test) => ({ ...test, verdict: test.verdict, origin: 'baseline' })) },
});

/** @param turns the turns that wrote tests for this program */
export const programChain = (program: ProgramView, suite: GroupView['suite'], turns: TestTurnView[]): ShownChain => ({
  stages: program.stages.map((stage) => {
    const own = turns.filter((turn) => turn.stage === stage.stage);
    return { ...stage, turns: own.length > 1 ? [joined(own)] : own };
  }),
  program: { ...program, tests: suite.map((test, i) => ({ ...test, verdict: program.verdicts[i] })) },
});

const ORDER = ['caught', 'valid', 'corrected', 'invalid'];

/** Joins the tests of several turns without duplicates and without rewards. Tests that caught the program come first. */
function joined(turns: readonly Turn[]): Turn {
  const tests = new Map(turns.flatMap((turn) => turn.tests).map((test) => [`${test.call} ${test.expected}`, test]));
  return {
    tests: [...tests.values()].sort((a, b) => ORDER.indexOf(a.outcome) - ORDER.indexOf(b.outcome)),
    lost: turns.reduce((sum, { lost }) => sum + lost, 0),
  };
}

export function Chain({ of: chain }: { of: ShownChain }) {
  const { description, stages } = chain;
  return (
    <>
      {description !== undefined && <LongText label="Problem" text={description} />}
      <ol class="chain" aria-label="Stages of the chain">
        {stages.map((stage, i) => (
          <li key={i}>
            <h3>
              <span class="number">{stage.stage}</span> {stage.title}
              {stage.truncated && ' (cut at the length limit)'}
            </h3>
            <LongText label={`${stageName(stage.stage)}: ${stage.title}`} text={stage.text} />
            {stage.turns.map((turn, t) => (
              <div key={t} class="turn">
                <WrittenTests of={turn} />
                <Reward of={turn} whose="tests" />
              </div>
            ))}
            {stage.turns.length === 0 && <p class="muted">No tests for this stage.</p>}
          </li>
        ))}
      </ol>
      <Verdicts of={chain} />
    </>
  );
}

/** Lists the tests that the program fails, and says who wrote each test. */
function Verdicts({ of: { program, stages } }: { of: ShownChain }) {
  const failed = program.tests.filter(({ verdict }) => verdict !== 'pass');
  const total = program.tests.length;
  const isUnparsed = program.outcome === 'unparsed';
  const writerOf = ({ call, origin }: (typeof failed)[number]): string => {
    const stage = stages.find(({ turns }) => turns.some(({ tests }) => tests.some((test) => test.call === call)));
    if (origin === 'generated') return stage ? `written for stage ${stage.stage}` : 'generated elsewhere';
    return origin === 'baseline' ? 'given' : origin;
  };
  return (
    <section>
      <h3>
        {total === 0
          ? 'The program was not run'
          : isUnparsed
            ? `The program has a syntax error, so it fails all ${total} tests`
            : failed.length === 0
              ? `The program passes all ${total} tests`
              : `The program fails ${failed.length} of ${total} tests`}
      </h3>
      <ul class="tests">
        {(isUnparsed ? [] : failed).map((test, i) => (
          <li key={i}>
            <VerdictMark verdict={test.verdict} /> <TestCode test={test} /> <span class="muted">{writerOf(test)}</span>
          </li>
        ))}
      </ul>
      {failed.some((test) => writerOf(test) === 'generated elsewhere') && !isUnparsed && (
        <p class="muted">Generated elsewhere: written for another program, or changed from a written test.</p>
      )}
      <Reward of={program} whose="program" />
    </section>
  );
}

export function WrittenTests({ of: { tests, lost } }: { of: Pick<TestTurnView, 'tests' | 'lost'> }) {
  return (
    <ul class="tests">
      {tests.map((test, i) => (
        <li key={i}>
          <Mark of={OUTCOMES[test.outcome]} /> <TestCode test={test} />
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

export const TestCode = ({ test: { call, expected } }: { test: Pick<WrittenTest, 'call' | 'expected'> }) => (
  <code>
    {clipped(call)} → {clipped(expected)}
  </code>
);

/** Shows a reward and the terms whose sum it is. */
export function Reward({ of, whose }: { of: Rewarded; whose: 'program' | 'tests' }) {
  const { reward, outcome, terms = [], advantage } = of;
  if (reward === undefined) return null;
  const least = terms.reduce<(typeof terms)[number] | undefined>(
    (a, b) => (a && a.value <= b.value ? a : b),
    undefined,
  );
  return (
    <div class="reward">
      <p>
        Reward of the {whose} <strong class={reward < 0 ? 'mark bad' : ''}>{signed(reward)}</strong>
        {outcome !== undefined && `: ${outcome}`}
        {reward < 0 && whose === 'tests' && least && terms.length > 1 && `, negative because of “${least.name}”`}
      </p>
      {terms.length > 1 && (
        <ul class="terms">
          {terms.map(({ name, weight, share, value, reason }) => (
            <li key={name}>
              <strong>{signed(value)}</strong> {visible(name)}{' '}
              <span class="muted">
                {decimal(weight)}
                {share !== 1 && ` × ${decimal(share)}`}
                {reason && `, ${reason}`}
              </span>
            </li>
          ))}
        </ul>
      )}
      {advantage !== undefined && <p class="muted">advantage in its group {signed(advantage)}</p>}
    </div>
  );
}

const QUALITY: Readonly<Record<string, string>> = {
  passed: 'good',
  valid: 'good',
  caught: 'caught',
  timeout: 'mixed',
  untested: 'mixed',
};

/** A good outcome with a negative reward is neither good nor bad. */
export function outcomeClass(outcome: string, reward = 0): string {
  const quality = QUALITY[outcome] ?? 'bad';
  return reward < 0 && quality === 'good' ? 'mixed' : quality;
}

type MarkText = [text: string, quality: string];

const VERDICTS: Readonly<Record<Verdict, MarkText>> = {
  pass: ['✓ pass', 'good'],
  fail: ['✗ fail', 'bad'],
  error: ['! error', 'bad'],
  timeout: ['⧗ timeout', 'mixed'],
  memory: ['! memory', 'mixed'],
  output: ['! output', 'mixed'],
};

export const VerdictMark = ({ verdict, short }: { verdict: Verdict | undefined; short?: boolean }) => (
  <Mark of={verdict === undefined ? ['– not run', ''] : VERDICTS[verdict]} short={short} />
);

const Mark = ({ of: [text, quality], short }: { of: MarkText; short?: boolean | undefined }) => (
  <span class={`mark ${quality}`} title={text}>
    {short ? text[0] : text}
    {short && <span class="unseen">{text.slice(1)}</span>}
  </span>
);

const OUTCOMES: Readonly<Record<WrittenTest['outcome'], MarkText>> = {
  caught: ['★ caught', 'caught'],
  valid: ['✓ valid', 'good'],
  corrected: ['~ corrected', 'mixed'],
  invalid: ['✗ invalid', 'bad'],
};
