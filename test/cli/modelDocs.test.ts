// Runs the shell lines of docs/how-to/use-the-engine-alone.md in order, then its loop, on the shipped model. Compares its
// table of fields with the schema.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { updateConfigSchema } from '../../core/schema/modelRows.js';
import { ROOT } from '../../infra/root.mjs';
import { removeFolders, temporaryFolder } from './support.js';

const run = promisify(execFile);

describe('docs/how-to/use-the-engine-alone.md', function () {
  this.timeout(150_000); // for a busy machine
  let page: string;
  let folder: string;
  let env: NodeJS.ProcessEnv;
  const blocks = (language: string): string[] =>
    [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map((match) => match[1]!);

  before(async () => {
    page = await readFile('docs/how-to/use-the-engine-alone.md', 'utf8');
    folder = await temporaryFolder({
      'bin/npx': `#!/bin/sh\nshift\nexec '${process.execPath}' '${ROOT}/bin/gauntlet.mjs' "$@"\n`,
    });
    await chmod(join(folder, 'bin', 'npx'), 0o755);
    await symlink(join(ROOT, 'data'), join(folder, 'data'));
    env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}`, NO_COLOR: '1' };
  });
  after(removeFolders);

  it('has shell lines that run in order', async () => {
    const { stdout, stderr } = await run('sh', ['-e', '-c', blocks('sh').join('\n')], { cwd: folder, env });
    assert.equal(stderr, '');
    assert.match(stdout, /Qwen2ForCausalLM/);
    assert.match(stdout, /\{"logprobs":\[-[^\]]*\]\}/);
    assert.match(stdout, /\{"loss":.*"gradNorm":.*"approxKl":.*"clipFraction":.*"step":1\}/);
    const answers = (await readFile(join(folder, 'answers.jsonl'), 'utf8')).trim().split('\n');
    assert.equal(answers.length, 2);
    assert.deepEqual((await readdir(join(folder, 'adapter-1'))).length, 3);
  });

  it('has a loop that trains', async () => {
    await writeFile(join(folder, 'loop.mjs'), blocks('js')[0]!);
    const { stdout, stderr } = await run(process.execPath, ['loop.mjs'], { cwd: folder, env });
    assert.equal(stderr, '');
    assert.match(stdout, /^step 1: mean length [\d.]+, loss \S+\nstep 2: mean length [\d.]+, loss \S+\n$/);
  });

  it('lists every field of an update with its default', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].map((match) => [match[1]!, match[2]!] as const);
    const fields = rows.filter(([name]) => name in updateConfigSchema.shape);
    assert.deepEqual(
      fields.map(([name]) => name),
      Object.keys(updateConfigSchema.shape),
    );
    const defaults = updateConfigSchema.parse({ learningRate: 1 }) as Record<string, unknown>;
    for (const [name, said] of fields) {
      if (defaults[name] === undefined || name === 'learningRate') assert.match(said, /^none|^`clip`/, name);
      else assert.deepEqual(JSON.parse(said), defaults[name], name);
    }
  });
});
