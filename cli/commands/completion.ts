// `gauntlet completion SHELL`: a completion script, generated from the commands and their options.
import { Argument, type Command } from 'commander';
import { print } from '../terminal/output.js';

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a shell completion script for the command `gauntlet`')
    .addArgument(new Argument('<shell>', 'shell').choices(['bash', 'zsh', 'fish']))
    .action((shell: string) => {
      print(shell === 'fish' ? fishScript(program) : bashScript(program, shell === 'zsh'));
    });
}

/** Every command below `command` with the words that lead to it. */
function pathsOf(command: Command, path: string[] = []): { path: string[]; command: Command }[] {
  const below = command.commands.flatMap((child) => pathsOf(child, [...path, child.name()]));
  return [{ path, command }, ...below];
}

const choicesOf = ({ commands, registeredArguments }: Command): string[] =>
  commands.length > 0 ? commands.map((child) => child.name()) : (registeredArguments[0]?.argChoices ?? []);

const flagsOf = ({ options }: Command): string[] => [...options.map(({ long }) => long!), '--help'];

/** zsh runs the same script through bashcompinit. */
function bashScript(program: Command, zsh: boolean): string {
  const paths = pathsOf(program);
  const words = paths.map(
    ({ path, command }) =>
      `    '${path.join(' ')}') words='${[...choicesOf(command), ...flagsOf(command)].join(' ')}' ;;`,
  );
  const values = paths.flatMap(({ path, command }) =>
    command.options.flatMap(({ long, argChoices }) =>
      argChoices ? [`    '${[...path, long].join(' ')}') words='${argChoices.join(' ')}' ;;`] : [],
    ),
  );
  const groups = paths.filter(({ command }) => command.commands.length > 0).map(({ path }) => `'${path.join(' ')}'`);
  return `${zsh ? 'autoload -U +X bashcompinit && bashcompinit\n' : ''}_gauntlet() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path" in ${groups.join(' | ')}) path="$path\${path:+ }\${COMP_WORDS[i]}" ;; esac
  done
  case "$path" in
${words.join('\n')}
  esac
  case "$path $previous" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _gauntlet gauntlet
`;
}

/** The groups that have a subcommand of this name. */
const groupsWith = (program: Command, name: string): string[] =>
  program.commands
    .filter(({ commands }) => commands.some((child) => child.name() === name))
    .map((group) => group.name());

function fishScript(program: Command): string {
  const lines = pathsOf(program).flatMap(({ path, command }) => {
    const below = command.commands.map((child) => child.name());
    const here = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const groups = path.length === 1 ? groupsWith(program, path[0]!) : []; // e.g. `checkpoints export` is not `export`
    const others = [...below, ...groups];
    const when = [...here, ...(others.length > 0 ? [`not __fish_seen_subcommand_from ${others.join(' ')}`] : [])];
    const add = `complete -c gauntlet -n '${when.join('; and ') || 'true'}'`;
    const options = command.options.map(({ long, argChoices, required }) => {
      const value = argChoices ? ` -x -a '${argChoices.join(' ')}'` : required ? ' -r' : '';
      return `${add} -l ${long!.slice(2)}${value}`;
    });
    const words = choicesOf(command);
    return [...(words.length > 0 ? [`${add} -f -a '${words.join(' ')}'`] : []), ...options];
  });
  return `${lines.join('\n')}\n`;
}
