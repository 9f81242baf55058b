// The story that the demo tells at its end.
import assert from 'node:assert/strict';
import { stripVTControlCharacters } from 'node:util';
import { createActivities } from '../../activities/index.js';
import { findStory } from '../../cli/run/story.js';
import { printable } from '../../cli/terminal/output.js';
import { storyText } from '../../cli/terminal/storyText.js';
import { openStore } from '../../store/openStore.js';
import { doubles, SMALL_RUN } from '../support/doubles.js';
import { runPipeline } from '../support/runs.js';
import { RESULT } from './support.js';

describe('the story of a run', () => {
  it('has a program that fails a test of the discriminator, and a later program for the same problem that passes', async () => {
    const world = await doubles();
    const activities = createActivities(world.deps);
    await runPipeline(activities, 'better', { ...SMALL_RUN, seed: 1 });
    await runPipeline(activities, 'same', { ...SMALL_RUN, seed: 0 }); // the records have no problem that improves
    const store = await openStore(world.folder);
    assert.deepEqual(await findStory(store, 'better'), {
      problemId: 'add-4',
      description: 'add 4',
      before: { step: 2, program: 'def solve(x):\n    return x + 5' },
      after: { step: 5, program: 'def solve(x):\n    return x + 4' },
      test: { stage: 1, call: 'solve(2)', expected: '6' },
    });
    assert.equal(await findStory(store, 'same'), undefined);
  });

  it('says what was wrong, what changed, and which test found it, and escapes hidden characters', () => {
    const story = storyText(RESULT, {
      problemId: 'add-4',
      description: 'add 4\nto x',
      before: { step: 2, program: 'def solve(x):\n    return x + 5 # \u001b[2J' },
      after: { step: 5, program: 'def solve(x):\n    return x + 4' },
      test: { stage: 1, call: 'solve(2)', expected: '6' },
    });
    const text = printable(story);
    const lines = stripVTControlCharacters(text).split('\n');
    for (const line of [
      '  add-4: add 4',
      '  before, at step 2',
      '        return x + 5 # \\u{1b}[2J',
      '  ✗ The discriminator found the bug with a test for stage 1, informal reasoning:',
      '    solve(2) == 6',
      '  after, at step 5',
    ])
      assert.ok(lines.includes(line), `${line}\nin\n${lines.join('\n')}`);
    assert.match(lines[1]!, /^ {2}Of the base model's programs for held-out problems, [\d.]+ % failed a hidden test,$/);
    assert.ok(!text.includes('\u001b[2J'));
  });
});
