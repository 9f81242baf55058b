// Renders what a run changed as text.
import { STAGE_SPECS } from '../../core/prompts/stages.js';
import type { RunResult } from '../../core/schema/run.js';
import type { Story } from '../run/story.js';
import { paint, percent } from './output.js';

export function storyText({ before, after }: RunResult, story: Story): string {
  const { problemId, description, test } = story;
  const program = (title: string, one: Story['before']): string[] => [
    `  ${paint('bold', `${title}, at step ${one.step}`)}`,
    ...one.program.split('\n').map((line) => `    ${line}`),
  ];
  const stage = STAGE_SPECS[test.stage as keyof typeof STAGE_SPECS].title.toLowerCase();
  return [
    paint('cyan', 'What was wrong'),
    `  Of the base model's programs for held-out problems, ${percent(1 - before.passRate)} failed a hidden test,`,
    `  and ${percent(1 - (before.testValidity ?? 0))} of its tests were wrong.`,
    '',
    paint('cyan', 'One program that changed'),
    `  ${problemId}: ${description.split('\n')[0]!}`,
    ...program('before', story.before),
    `  ${paint('red', '✗')} The discriminator found the bug with a test for stage ${test.stage}, ${stage}:`,
    `    ${test.call} == ${test.expected}`,
    ...program('after', story.after),
    `  ${paint('green', '✓')} It passes every test.`,
    '',
    paint('cyan', 'What is better'),
    `  Now ${percent(1 - after.passRate)} of the programs fail, and ${percent(1 - (after.testValidity ?? 0))} of the tests are wrong.`,
  ].join('\n');
}
