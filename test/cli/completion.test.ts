// The completion scripts offer the commands and options that exist.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createProgram } from '../../cli/main.js';
import { inProcess } from './support.js';

describe('shell completion', () => {
  const names = createProgram().commands.map((command) => command.name());

  it('completes commands, subcommands, options and their values in bash', async () => {
    const { out: script } = await inProcess('completion', 'bash');
    const complete = (...words: string[]): string[] => {
      const typed = words.map((word) => `'${word}'`).join(' ');
      const ask = `COMP_WORDS=(gauntlet ${typed}); COMP_CWORD=${words.length}; _gauntlet; echo "\${COMPREPLY[@]}"`;
      return execFileSync('bash', ['-c', `${script}\n${ask}`], { encoding: 'utf8' })
        .trim()
        .split(' ');
    };
    assert.deepEqual(complete(''), [...names, '--version', '--help']);
    assert.deepEqual(complete('sch'), ['schedule']);
    assert.deepEqual(complete('schedule', 'c'), ['create']);
    assert.deepEqual(complete('schedule', 'create', 'nightly', '--cr'), ['--cron']);
    assert.deepEqual(complete('train', '--sandbox', ''), ['auto', 'docker', 'wasm']);
    assert.deepEqual(complete('completion', ''), ['bash', 'zsh', 'fish', '--help']);
  });

  it('uses the bash script in zsh', async () => {
    const [bash, zsh] = [await inProcess('completion', 'bash'), await inProcess('completion', 'zsh')];
    assert.equal(zsh.out, `autoload -U +X bashcompinit && bashcompinit\n${bash.out}`);
  });

  it('offers every command, option and choice at its place in fish', async () => {
    const { out } = await inProcess('completion', 'fish');
    const lines = out.trim().split('\n');
    assert.equal(
      lines[0],
      `complete -c gauntlet -n 'not __fish_seen_subcommand_from ${names.join(' ')}' -f -a '${names.join(' ')}'`,
    );
    assert.ok(
      lines.every((line) =>
        /^complete -c gauntlet -n '[^']+' (-f -a '[^']+'|-l [\w-]+( -r| -x -a '[^']+')?)$/.test(line),
      ),
    );
    assert.ok(
      lines.includes("complete -c gauntlet -n '__fish_seen_subcommand_from train' -l sandbox -x -a 'auto docker wasm'"),
    );
    const optionOf = (place: string, option: string) =>
      lines.some((line) => line.startsWith(`complete -c gauntlet -n '${place}' -l ${option}`));
    const seen = '__fish_seen_subcommand_from';
    assert.ok(optionOf(`${seen} export; and not ${seen} checkpoints`, 'rollouts'));
    assert.ok(optionOf(`${seen} checkpoints; and ${seen} export`, 'out'));
  });

  it('refuses an unknown shell', async () => {
    const { code, err } = await inProcess('completion', 'tcsh');
    assert.equal(code, 2);
    assert.match(err, /'tcsh' is invalid for argument 'shell'\. Allowed choices are bash, zsh, fish/);
  });
});
