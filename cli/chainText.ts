// A whole chain as text.
import { STAGE_SPECS } from '../core/prompts/stages.js';
import type { ChainView, ShownTest } from '../core/schema/chainView.js';
import { paint } from './output.js';

export function chainText(view: ChainView): string {
  const lines = [paint('bold', `problem ${view.problemId}`), view.description, view.signature, ''];
  const rewards = [...view.rewards.discriminator]; // of the stages that have tests, in order
  for (const { stage, text, tests, lost } of view.stages) {
    lines.push(paint('cyan', `stage ${stage} · ${STAGE_SPECS[stage].title.toLowerCase()}`), indent(text));
    if (tests.length + lost > 0) {
      const reward = rewards.shift();
      lines.push(`  tests of the discriminator${reward === undefined ? '' : ` (reward ${reward.toFixed(2)})`}:`);
      lines.push(...tests.map(testLine));
      if (lost > 0) lines.push(`    ${lost} unreadable`);
    }
    lines.push('');
  }
  lines.push(paint('cyan', 'baseline tests'), ...view.baseline.map(testLine));
  lines.push(`generator reward ${view.rewards.generator.toFixed(2)}`);
  return lines.join('\n');
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
