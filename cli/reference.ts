// docs/cli.md, written from the commands themselves; a test holds the page to them.
import type { Command } from 'commander';
import { packageRoot } from '../data/paths.js';

const HEAD = `# The command line

Inside a checkout every command is \`npx gauntlet …\`. Results go to standard output, remarks and progress to standard
error; with \`--json\` standard output holds JSON only. Any failure is one line with a code of [errors](errors.md) and a
non-zero exit; a run that was left with Ctrl-C is 130. \`GAUNTLET_STORE\` gives another store than \`.gauntlet\`,
\`TEMPORAL_ADDRESS\` a server of your own, \`GAUNTLET_THREADS\` the number of model threads, \`GAUNTLET_LOG\` the level
of the log in \`worker.log\` of the store, \`GAUNTLET_CACHE\` the folder of quantised weights, \`GAUNTLET_DEBUG=1\` the
stack of an error.`;

/** Every command that does something, in the order of --help. */
export function leafCommands(command: Command, path: string[] = []): { name: string; command: Command }[] {
  const here = [...path, command.name()];
  if (command.commands.length === 0) return [{ name: here.join(' '), command }];
  return command.commands.flatMap((child) => leafCommands(child, here));
}

export function commandReference(program: Command): string {
  return `${[HEAD, ...leafCommands(program).map(({ name, command }) => section(name, command))].join('\n\n')}\n`;
}

function section(name: string, command: Command): string {
  const help = command.createHelp();
  const operands = command.registeredArguments.map((argument) => {
    const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return ` ${argument.required ? `<${text}>` : `[${text}]`}`;
  });
  const rows = [
    ...command.registeredArguments.map((argument) => [argument.name(), help.argumentDescription(argument)]),
    ...command.options.map((option) => [option.flags, help.optionDescription(option)]),
  ];
  const table = ['| | |', '|---|---|', ...rows.map(([term, text]) => `| \`${term}\` | ${cell(text ?? '')} |`)];
  const lines = [`## \`${name}${operands.join('')}\``, '', sentence(command.description())];
  return [...lines, ...(rows.length > 0 ? ['', ...table] : [])].join('\n');
}

/** Paths of this checkout as they are written from its root. */
const cell = (text: string): string =>
  text.replaceAll(`${packageRoot()}/`, '').replaceAll('|', '\\|').replaceAll('<', '&lt;');
const sentence = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`;
