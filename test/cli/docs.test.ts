// What README and docs tell people to type exists: commands, flags, scripts, files, workflow types.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { createProgram } from '../../cli/main.js';
import { commandReference, leafCommands } from '../../cli/reference.js';
import { resolveConfig } from '../../core/presets.js';
import { TASK_QUEUES } from '../../core/queues.js';
import { loadProblems } from '../../data/problems.js';
import * as workflows from '../../workflows/index.js';
import { gauntlet, inProcess, removeFolders, temporaryFolder } from './support.js';

const PAGES = [
  'README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
const read = (page: string): string => readFileSync(page, 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** Lines of the shell blocks of a page, without comments. */
function shellLines(page: string): string[] {
  const blocks = [...read(page).matchAll(/```(?:sh|bash|console)\n([\s\S]*?)```/g)].map((match) => match[1]!);
  return blocks
    .join('\n')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '');
}

const inline = (page: string): string[] =>
  [...read(page).matchAll(/`((?:npx gauntlet|npm run) [^`\n]+)`/g)].map((m) => m[1]!);
const words = (line: string): string[] => (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'|'$/g, ''));

/** The command that a line names, and every flag of it that the command lacks. */
function check(line: string): void {
  let rest = words(line).slice(2);
  let command: Command = createProgram();
  while (command.commands.length > 0) {
    const child = command.commands.find((one) => one.name() === rest[0]);
    assert.ok(child, `'${line}': no command '${rest[0]}'`);
    [command, rest] = [child, rest.slice(1)];
  }
  if (command.name() === 'temporal') return; // all that follows is the Temporal CLI's
  for (const word of rest.filter((one) => one.startsWith('--') && one !== '--help')) {
    assert.ok(
      command.options.some((option) => option.long === word),
      `'${line}': no flag ${word}`,
    );
  }
}

describe('the help', () => {
  it('is there for every command, with its flags, and docs/cli.md is the same', async () => {
    for (const { name, command } of leafCommands(createProgram())) {
      if (name === 'gauntlet temporal') continue; // its help is the Temporal CLI's
      const { code, out } = await inProcess(...name.split(' ').slice(1), '--help');
      assert.equal(code, 0);
      assert.ok(out.includes(`Usage: ${name} `), out);
      for (const option of command.options)
        assert.ok(out.includes(option.flags), `${option.flags} in the help of ${name}`);
      assert.ok(
        command.options.some((option) => option.long === '--json'),
        `${name} has --json`,
      );
    }
    assert.equal(read('docs/cli.md'), commandReference(createProgram()));
  });

  it('comes from the program itself too, which names its version', async () => {
    const [help, version] = await Promise.all([gauntlet(['--help']), gauntlet(['--version'])]);
    assert.equal(help.code, 0);
    for (const one of createProgram().commands) assert.ok(help.out.includes(`\n  ${one.name()} `), one.name());
    assert.equal(version.out.trim(), JSON.parse(read('package.json')).version);
  }).timeout(30_000);
});

describe('README and docs', () => {
  after(removeFolders);

  it('name commands and flags that exist', () => {
    let checked = 0;
    for (const page of PAGES) {
      for (const line of [...shellLines(page), ...inline(page)].filter((one) => one.startsWith('npx gauntlet '))) {
        if (line.includes('…')) continue;
        check(line);
        checked++;
      }
    }
    assert.ok(checked > 10, `${checked} lines`);
  });

  it('name npm scripts that exist, and flags that theirs take', () => {
    let checked = 0;
    for (const page of PAGES) {
      for (const line of [...shellLines(page), ...inline(page)].filter((one) => /^npm (run|test)/.test(one))) {
        const [, verb, name, ...flags] = words(line);
        const script = verb === 'test' ? 'test' : name!;
        assert.ok(scripts[script], `${page}: '${line}': no script ${script}`);
        if (script === 'demo' && flags.length > 0)
          check(`npx gauntlet demo ${flags.filter((one) => one !== '--').join(' ')}`);
        checked++;
      }
    }
    assert.ok(checked >= 3, `${checked} lines`);
  });

  it('start a workflow that is there, on the queue that is served', () => {
    const starts = PAGES.flatMap(shellLines).filter((line) => line.includes('temporal workflow start'));
    assert.ok(starts.length > 0);
    for (const line of starts) {
      const flag = (name: string): string => words(line)[words(line).indexOf(name) + 1]!;
      assert.ok(flag('--type') in workflows, line);
      assert.equal(flag('--task-queue'), TASK_QUEUES.orchestrator);
    }
    const inputs = [...read('README.md').matchAll(/--input '([^']+)'/g)].map((match) => match[1]!);
    for (const input of inputs) resolveConfig(JSON.parse(input));
  });

  it('show a problem that loads, in every form of test', async () => {
    const example = /```json\n(\{\s*"id"[\s\S]*?)```/.exec(read('README.md'))![1]!;
    const folder = await temporaryFolder({ 'problem.json': example });
    const set = await loadProblems(join(folder, 'problem.json'));
    const [problem] = [...set.train, ...set.validation, ...set.test];
    assert.equal(problem?.entry, 'solve');
    assert.deepEqual(
      problem.baselineTests.map(({ args, expected }) => [args, expected]),
      [
        [[[5, 2], 3], 6],
        [[[4, 9], 0], 15],
        [[[1], 7], 0],
      ],
    );
    assert.deepEqual(JSON.parse(JSON.stringify(problem)), problem, 'it can be stored');
  });

  it('link to files that are there', () => {
    for (const page of PAGES) {
      const text = read(page).replace(/```[\s\S]*?```/g, '');
      const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map((match) =>
        join(dirname(page), match[1]!),
      );
      const named = [...text.matchAll(/`((?:docs|data|infra|core|bench)\/[\w./-]+\.\w+)`/g)].map((match) => match[1]!);
      for (const path of [...links, ...named]) assert.ok(existsSync(path), `${page} names ${path}`);
    }
  });
});
