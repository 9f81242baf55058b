// One chain in full: five stages, the tests for each, their outcomes and the rewards.
import { STAGE_SPECS } from '../core/prompts/stages.js';
import { type Term, termsText } from '../core/rewards/rule.js';
import type { ChainView, ShownTest } from '../core/schema/chainView.js';
import type { ReportData } from './data.js';
import { decimal, table } from './figures.js';
import { type Html, html } from './html.js';

export function chainSection({ chain }: ReportData): Html | undefined {
  if (!chain) return undefined;
  const { view, by } = chain;
  return html`<h2>One chain of reasoning</h2>
<p class="muted">Problem ${view.problemId}, by ${by}. The generator never sees a generated or a hidden test.</p>
<pre>${view.description}

${view.signature}</pre>
${view.stages.map((_, index) => stagePart(view, index))}
<h3>Given tests</h3>
${testTable(view.baseline, 'Baseline tests of the problem, run with the final program.')}
<p>Reward of the generator: <strong>${decimal(view.rewards.generator, 2)}</strong>${sum(view.rewards.terms?.generator)}</p>`;
}

function stagePart(view: ChainView, index: number): Html {
  const { stage, repairs, text, tests, lost } = view.stages[index]!;
  const at = rewardIndex(view, index);
  const reward = view.rewards.discriminator[at];
  const written = tests.length + lost > 0;
  return html`<section class="stage" aria-label="stage ${stage}"><h3>Stage ${stage}: ${STAGE_SPECS[stage].title}</h3>
${repairs && html`<p>Written again, after a failed test: <code>${repairs.call}</code> is <code>${repairs.expected}</code>, not <code>${repairs.got}</code>.</p>`}
<pre>${text}</pre>
${written && testTable(tests, `Tests that the discriminator wrote for this stage${lost > 0 ? `; ${lost} more could not be read` : ''}.`)}
${written && reward !== undefined && html`<p>Reward of the discriminator: <strong>${decimal(reward, 2)}</strong>${sum(view.rewards.terms?.discriminator[at])}</p>`}</section>
`;
}

const sum = (terms: readonly Term[] | undefined): string => (terms === undefined ? '' : ` = ${termsText(terms)}`);

/** There is one reward per stage, or one per stage with tests. */
function rewardIndex({ stages, rewards }: ChainView, index: number): number {
  if (rewards.discriminator.length === stages.length) return index;
  return stages.slice(0, index).filter(({ tests, lost }) => tests.length + lost > 0).length;
}

function testTable(tests: readonly ShownTest[], caption: string): Html {
  if (tests.length === 0) return html`<p class="muted">No readable test.</p>`;
  return table({
    caption,
    words: true,
    head: ['call', 'expected', 'outcome'],
    rows: tests.map((test) => ({
      cells: [html`<code>${test.call}</code>`, html`<code>${test.expected}</code>`, outcome(test)],
    })),
  });
}

function outcome({ valid, verdict }: ShownTest): Html {
  if (!valid) return html`<span class="warn verdict">invalid</span> <small>the reference disagrees</small>`;
  if (verdict === 'pass') return html`<span class="good verdict">pass</span>`;
  return html`<span class="bad verdict">${verdict ?? 'not run'}</span>`;
}
