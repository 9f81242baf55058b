// A whole chain as text.
import { STAGE_SPECS } from '../core/prompts/stages.js';
import { OUTCOMES, type Outcome } from '../core/rewards/outcomes.js';
import type { ChainView, ShownTest } from '../core/schema/chainView.js';
import { paint, visible } from './output.js';

export function chainText(view: ChainView): string {
  const lines = [
    paint('bold', visible(`problem ${view.problemId}`)),
    visible(view.description),
    visible(view.signature),
    '',
  ];
  const rewards = view.rewards.discriminator.map((reward, i) => rewardText(reward, view.outcomes.discriminator[i]!)); // of the stages that have tests, in order
  for (const { stage, repairs, text, tests, lost } of view.stages) {
    const title = `stage ${stage} · ${STAGE_SPECS[stage].title.toLowerCase()}`;
    lines.push(paint('cyan', repairs ? `${title}, again, after a failed test` : title));
    if (repairs) lines.push(visible(`  ${repairs.call} == ${repairs.expected}, not ${repairs.got}`));
    lines.push(indent(visible(text)));
    if (tests.length + lost > 0) {
      const reward = rewards.shift();
      lines.push(`  tests of the discriminator${reward === undefined ? '' : ` (reward ${reward})`}:`);
      lines.push(...tests.map(testLine));
      if (lost > 0) lines.push(`    ${lost} unreadable`);
    }
    lines.push('');
  }
  lines.push(paint('cyan', 'baseline tests'), ...view.baseline.map(testLine));
  lines.push(`generator reward ${rewardText(view.rewards.generator, view.outcomes.generator)}`);
  return lines.join('\n');
}

const rewardText = (reward: number, outcome: Outcome): string => `${reward.toFixed(2)}: ${OUTCOMES[outcome]}`;

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
  return `    ${visible(`${call} == ${expected}`)}  ${said}`;
}
