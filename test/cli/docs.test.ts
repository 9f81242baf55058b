// README and docs name only commands, options, scripts, files and workflow types that exist.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { configJsonSchema } from '../../cli/commands/config.js';
import { examplesOf, leafCommands } from '../../cli/help.js';
import { createProgram } from '../../cli/main.js';
import { EXIT, EXIT_CODES } from '../../cli/terminal/exitCodes.js';
import { resolveConfig } from '../../core/config/presets.js';
import { TASK_QUEUES } from '../../core/temporal/queues.js';
import { loadProblems } from '../../data/problems.js';
import * as workflows from '../../workflows/index.js';
import { commandReference } from './reference.js';
import { gauntlet, inProcess, removeFolders, temporaryFolder } from './support.js';

const pagesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const INDEXED = ['docs', 'docs/how-to'].flatMap(pagesIn);
const PAGES = [...pagesIn('.'), ...INDEXED, ...pagesIn('docs/adr')];
/** The other pages describe earlier versions, so their entries are not updated. */
const CURRENT = PAGES.filter((page) => page !== 'CHANGELOG.md' && page !== 'docs/notebook.md');
const read = (page: string): string => readFileSync(page, 'utf8');
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

/** The lines of a page's shell blocks, without comments. */
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

/** Fails if the line names an unknown command or option, or has the wrong number of arguments. */
function check(line: string): void {
  let rest = words(line).slice(2);
  let command: Command = createProgram();
  while (command.commands.length > 0) {
    const child = command.commands.find((one) => one.name() === rest[0]);
    assert.ok(child, `'${line}': no command '${rest[0]}'`);
    [command, rest] = [child, rest.slice(1)];
  }
  if (command.name() === 'temporal') return; // the remaining arguments belong to the Temporal CLI
  let operands = 0;
  for (let i = 0; i < rest.length && !/^[|>]/.test(rest[i]!); i++) {
    const word = rest[i]!;
    const option = command.options.find(({ long, short, hidden }) => !hidden && (long === word || short === word));
    if (option === undefined && word !== '--help') assert.ok(!word.startsWith('-'), `'${line}': no option ${word}`);
    if (option === undefined && word !== '--help') operands++;
    if (option?.required) i++; // skips the value of the option
  }
  const { registeredArguments: known } = command;
  assert.ok(operands >= known.filter(({ required }) => required).length, `'${line}': an argument is missing`);
  assert.ok(operands <= known.length || known.at(-1)?.variadic, `'${line}': too many arguments`);
}

/** Compares a page with what the code generates. UPDATE_DOCS=1 writes it. */
function generated(path: string, text: string): void {
  if (process.env.UPDATE_DOCS === '1') writeFileSync(path, text);
  assert.ok(
    read(path) === text,
    `${path} is out of date: UPDATE_DOCS=1 npx mocha dist/test/cli/docs.test.js writes it`,
  );
}

describe('the help texts', () => {
  const commands = leafCommands(createProgram()).filter(({ name }) => name !== 'temporal'); // prints Temporal's help

  it('show every option of each command, and an example that uses existing options', async () => {
    for (const { name, command } of commands) {
      const { code, out } = await inProcess(...name.split(' '), '--help');
      assert.equal(code, EXIT.ok);
      assert.ok(out.includes(`Usage: gauntlet ${name} `), out);
      for (const option of command.options.filter(({ hidden }) => !hidden))
        assert.ok(out.includes(option.flags), `${option.flags} in the help of ${name}`);
      assert.ok(
        command.options.some(({ long }) => long === '--json'),
        `${name} has --json`,
      );
      assert.ok(examplesOf(name).length > 0, `${name} has an example`);
      for (const line of examplesOf(name)) {
        assert.ok(out.includes(`Examples:\n`) && out.includes(`\n  ${line}\n`), `${name} shows ${line}`);
        check(line);
      }
    }
  });

  it('may be cut off by a reader that ends early', async () => {
    const child = spawn(process.execPath, ['bin/gauntlet.mjs', '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const errors = child.stderr.setEncoding('utf8').toArray();
    const [code] = await once(child, 'close');
    assert.deepEqual([code, await errors], [EXIT.ok, []]);
  });

  it('list the commands in groups and show the version', async () => {
    const [help, version] = [await inProcess('--help'), await gauntlet(['--version'])];
    assert.equal(help.code, EXIT.ok);
    for (const one of createProgram().commands) assert.ok(help.out.includes(`\n  ${one.name()} `), one.name());
    for (const heading of ['Train:', 'Use the results:', 'Server and store:', 'Tools:'])
      assert.ok(help.out.includes(`\n${heading}\n`), heading);
    assert.equal(version.out.trim(), JSON.parse(read('package.json')).version);
  }).timeout(30_000);
});

describe('generated pages', () => {
  it('include docs/cli.md with all commands, options and examples', () => generated('docs/cli.md', commandReference()));

  it('include docs/gauntlet.config.schema.json, the output of `config schema`', async () => {
    generated('docs/gauntlet.config.schema.json', (await inProcess('config', 'schema')).out);
    const schema = configJsonSchema() as { properties: object; additionalProperties: boolean };
    assert.deepEqual(
      Object.keys(schema.properties).sort(),
      ['$schema', 'rollouts', 'reference', ...Object.keys(resolveConfig())].sort(),
    );
    assert.equal(schema.additionalProperties, false);
  });

  it('include docs/errors.md with the exit codes and their error codes', () => {
    const page = read('docs/errors.md');
    const rows = [...page.slice(page.indexOf('## Exit codes')).matchAll(/^\| (\d+) \| [^|]+ \| ([^|]+) \|$/gm)];
    const documented = Object.fromEntries(
      rows.map(([, exit, codes]) => [exit, [...codes!.matchAll(/`(\w+)`/g)].map((match) => match[1]!)]),
    );
    const defined = Object.fromEntries(
      Object.values(EXIT).map((exit) => [
        exit,
        Object.entries(EXIT_CODES).flatMap(([code, of]) => (of === exit ? [code] : [])),
      ]),
    );
    assert.deepEqual(documented, defined);
  });
});

describe('README and docs', () => {
  after(removeFolders);

  it('name commands and options that exist', () => {
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

  it('name npm scripts that exist and options that those scripts accept', () => {
    let checked = 0;
    for (const page of CURRENT) {
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

  it('start an existing workflow on the task queue of the workers', () => {
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

  it('show a valid problem with every form of test', async () => {
    const example = /```json\n(\{\s*"id"[\s\S]*?)```/.exec(read('docs/tutorial.md'))![1]!;
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

  it('show a problem file with a problem for each split', async () => {
    const file = /problems\.jsonl <<'END'\n([\s\S]*?)END\n/.exec(read('docs/tutorial.md'))![1]!;
    const folder = await temporaryFolder({ 'problems.jsonl': file });
    const { train, validation, test } = await loadProblems(join(folder, 'problems.jsonl'));
    for (const split of [train, validation, test]) assert.ok(split.length > 0);
  });

  it('link to files and headings that exist', () => {
    const slugs = (page: string): string[] =>
      [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
        heading!
          .toLowerCase()
          .replace(/[^\p{L}\p{N} _-]/gu, '')
          .replaceAll(' ', '-'),
      );
    let checked = 0;
    for (const page of PAGES) {
      const text = read(page).replace(/```[\s\S]*?```/g, '');
      for (const [, file, heading] of text.matchAll(/\]\((?!https?:)([^)#]*)#?([^)]*)\)/g)) {
        const target = file === '' ? page : join(dirname(page), file!);
        assert.ok(existsSync(target), `${page} links to ${target}`);
        if (heading) assert.ok(slugs(target).includes(heading), `${page}: ${target} has no heading #${heading}`);
        checked++;
      }
    }
    assert.ok(checked > 50, `${checked} links`);
  });

  it('name files that exist', () => {
    const folders = readdirSync('.', { withFileTypes: true }).filter((entry) => entry.isDirectory());
    const sources = folders.map(({ name }) => name).filter((name) => !name.startsWith('.')); // paths in the store of a run do not count
    const pattern = new RegExp(`\`((?:${sources.join('|')})/[\\w./-]+\\.\\w+)\``, 'g');
    for (const page of CURRENT)
      for (const [, path] of read(page).matchAll(pattern))
        assert.ok(existsSync(path!) || path!.includes('NAME'), `${page} names ${path}, which does not exist`);
  });

  it('are listed in the index', () => {
    const index = read('docs/README.md');
    for (const page of INDEXED.filter((one) => one !== 'docs/README.md'))
      assert.ok(index.includes(`](${page.slice('docs/'.length)})`), page);
  });
});
