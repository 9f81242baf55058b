// docs/guest-protocol.md names every field and kind of the schemas.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import {
  encodeFrame,
  type JobFrame,
  MAGIC,
  readyFrameSchema,
  resultFrameSchema,
  retireFrameSchema,
} from '../../sandbox/guest/frames.js';
import { guestSource } from '../../sandbox/guest/source.js';

const page = fs.readFileSync(path.join(ROOT, 'docs/guest-protocol.md'), 'utf8');

describe('docs/guest-protocol.md', () => {
  it('names every field, the greeting, the kinds of calls and the tags of values', () => {
    const job: Record<keyof JobFrame, true> = {
      id: true,
      code: true,
      entry: true,
      calling: true,
      inputs: true,
      truth: true,
      cpu: true,
      case: true,
      wall: true,
      memory: true,
      output: true,
    };
    const fields = [readyFrameSchema, resultFrameSchema, retireFrameSchema].flatMap((schema) =>
      Object.keys(schema.shape),
    );
    const kinds = resultFrameSchema.shape.calls.element.def.items[0].options;
    for (const name of [...fields, ...Object.keys(job), ...kinds, ...'ifstdbc', MAGIC])
      assert.ok(page.includes(`\`${name}\``), `\`${name}\` is not on the page`);
  });

  it('describes the greeting and the frames of the guests', () => {
    assert.ok(guestSource('program').includes(MAGIC));
    assert.deepEqual(encodeFrame({ a: 'ü' }), Buffer.concat([Buffer.from([0, 0, 0, 10]), Buffer.from('{"a":"ü"}')]));
    assert.ok(readyFrameSchema.safeParse({ ready: true, cpu: 0.5 }).success);
    assert.ok(!readyFrameSchema.safeParse({ ready: true, python: '3.12' }).success);
  });
});
