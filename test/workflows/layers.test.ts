import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { ACTIVITIES } from '../../method/activities.js';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The functions of a file that make a layer or are one, or the innermost function, in their order. */
function layersIn(path: string): string[] {
  const declared = read(path)
    .split(/^(?:export )?(?:const|function) /m)
    .slice(1);
  const isLayer = (text: string): boolean => /^\w+: Layer = |\): (Layer|Next) (=>|\{)/.test(text.split('\n\n')[0]!);
  return declared.filter(isLayer).map((text) => /^\w+/.exec(text)![0]);
}

describe('the layers around an activity', () => {
  const page = read('docs/one-step.md');
  const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!);

  for (const file of ['workflows/layers.ts', 'activities/layers.ts'])
    it(`of ${file} are described in the page about one step, in their order`, () => {
      const layers = layersIn(file);
      assert.ok(layers.length >= 5 && layers.length <= 10, `${layers}`);
      assert.deepEqual(
        rows.filter((row) => layers.includes(row)),
        layers,
      );
      const listed = [...read(file).matchAll(/^\/\/ {3}(\w+) /gm)].map(([, name]) => name);
      assert.deepEqual(listed, layers, 'the list at the top of the file');
    });

  it('use the activity names that are in recorded histories', () => {
    for (const [name, activity] of Object.entries(ACTIVITIES)) assert.equal(activity.name, name);
  });
});
