// Renders a whole chain as text.
import { STAGE_SPECS } from '../../core/prompts/stages.js';
import { countsOf, programReason, type TestCounts, testReason } from '../../core/rewards/explain.js';
import { OUTCOMES, type Outcome } from '../../core/rewards/outcomes.js';
import { type Term, termsText } from '../../core/rewards/rule.js';
import type { ChainView, ShownTest } from '../../core/schema/chainView.js';
import { paint } from './output.js';

export function chainText(view: ChainView): string {
  const lines = [paint('bold', `problem ${view.problemId}`), view.description, view.signature, ''];
  const { terms, scheme } = view.rewards;
  // one reward for each stage that has tests
  const rewards = view.rewards.discriminator.map((reward, i) => ({
    text: rewardText(reward, view.outcomes.discriminator[i]!),
    sum: (counts: TestCounts) => sumLines(reward, terms?.discriminator[i], '    ', (own) => testReason(own, counts)),
  }));
  for (const { stage, text, tests, lost } of view.stages) {
    lines.push(paint('cyan', `stage ${stage} · ${STAGE_SPECS[stage].title.toLowerCase()}`), indent(text));
    if (tests.length + lost > 0) {
      const reward = rewards.shift();
      lines.push(`  tests of the discriminator${reward === undefined ? '' : ` (reward ${reward.text})`}:`);
      lines.push(...(reward?.sum(countsOf(tests, lost)) ?? []));
      lines.push(...tests.map(testLine));
      if (lost > 0) lines.push(`    ${lost} unreadable`);
    }
    lines.push('');
  }
  lines.push(paint('cyan', 'baseline tests'), ...view.baseline.map(testLine));
  lines.push(`generator reward ${rewardText(view.rewards.generator, view.outcomes.generator)}`);
  lines.push(...sumLines(view.rewards.generator, terms?.generator, '  ', programReason));
  if (scheme !== undefined) lines.push(`reward scheme ${scheme}, see docs/method.md#rewards`);
  return lines.join('\n');
}

const rewardText = (reward: number, outcome: Outcome): string => `${reward.toFixed(2)}: ${OUTCOMES[outcome]}`;

/** Explains a reward: its formula, and the reason for each term. */
function sumLines(
  reward: number,
  terms: readonly Term[] | undefined,
  margin: string,
  reasonOf: (term: Term) => string | undefined,
): string[] {
  if (terms === undefined) return [];
  const reasons = terms.flatMap((own) => {
    const reason = reasonOf(own);
    const value = own.weight * own.share;
    return reason === undefined
      ? []
      : [`${margin}  ${`${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(2)}`}  ${reason}`];
  });
  return [`${margin}${reward.toFixed(2)} = ${termsText(terms)}`, ...reasons];
}

const indent = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');

function testLine({ call, expected, valid, verdict }: ShownTest): string {
  const said = !valid
    ? paint('yellow', 'invalid: the reference disagrees')
    : verdict === 'pass'
      ? paint('green', 'pass')
      : paint('red', verdict ?? 'not run');
  return `    ${call} == ${expected}  ${said}`;
}
