// Generates docs/cli.md from the commands.
import type { Command } from 'commander';
import { examplesOf, leafCommands } from '../../cli/help.js';
import { createProgram } from '../../cli/main.js';
import { ROOT } from '../../infra/root.mjs';

const HEAD = `# The command line

This page is generated from the commands: \`UPDATE_DOCS=1\` with \`test/cli/docs.test.ts\` writes it.

Inside a checkout every command is \`npx gauntlet …\`.

- **RUN** is a run id, **RUN/NAME** a checkpoint of that run: \`demo-seed-0/best\`, \`demo-seed-0/latest\` or a name that
  \`gauntlet checkpoints list\` prints. RUN alone means RUN/best.
- Results go to standard output, progress and warnings to standard error. With \`--json\` standard output holds one line of
  JSON, or JSON lines if the option says so, and the last line on standard error is the error as JSON:
  \`{"error": {"code", "message", "hint"}}\`.
- [Errors](errors.md) lists the error codes and the exit codes.
- \`train\` and \`schedule create\` read \`gauntlet.config.json\` in the working directory, see
  [configuration](configuration.md).
- Colours: only in terminals; \`NO_COLOR\` and \`FORCE_COLOR\` override that.

| variable | meaning |
|---|---|
| \`GAUNTLET_STORE\` | store instead of \`.gauntlet\`: a folder or \`s3://BUCKET/PREFIX\` |
| \`TEMPORAL_ADDRESS\` | a Temporal server of your own |
| \`TEMPORAL_CLI\` | the Temporal CLI; default: \`temporal\` on the PATH, else one that is downloaded or built |
| \`GAUNTLET_THREADS\` | number of model threads |
| \`GAUNTLET_CONTAINERS\` | number of containers, or of processes with WebAssembly, that run programs at the same time; default: one per core |
| \`GAUNTLET_TOKEN\` | the token of \`serve\`, \`sandbox serve\` and \`dashboard\` beyond loopback; default: a random one, which they print |
| \`GAUNTLET_MEMORY\` | memory that a worker may use, such as \`2GB\` or \`1500MiB\`; default: half of the machine, or three quarters of the container if that is less, see [memory](architecture.md#engine) |
| \`GAUNTLET_DEVICE\` | device for models |
| \`GAUNTLET_CACHE\` | folder of what can be made or fetched again: the Temporal CLI, models, quantized weights, artifacts of a store in a bucket; default: \`gauntlet\` in your cache folder |
| \`GAUNTLET_ACCEPT_ENVIRONMENT=1\` | continue a run that has another Python, sandbox, engine or device; the change is recorded |
| \`GAUNTLET_ROLLOUTS_ENDPOINT\` | address of the rollout server, instead of the one in the configuration |
| \`GAUNTLET_ROLLOUTS_API_KEY\` | key of the rollout server; sent only to the address in \`GAUNTLET_ROLLOUTS_ENDPOINT\` |
| \`GAUNTLET_ROLLOUTS_ADAPTERS\` | folders, separated by \`:\`, that \`rollouts.adapters\` may be in, besides the store |
| \`GAUNTLET_CODEC_KEYS\` | file of keys that encrypt what the Temporal server stores, see [encrypt payloads](how-to/run-on-a-cluster.md#encrypt-payloads) |
| \`GAUNTLET_BUILD_ID\` | build of the workers, for [worker versions](how-to/run-on-a-cluster.md#deploy-a-new-version) |
| \`GAUNTLET_HANG_SECONDS\` | how long an activity may make no progress before its worker ends; default 120, 0 for no bound, see [calls that hang](how-to/run-on-a-cluster.md#calls-that-hang) |
| \`GAUNTLET_GRACE_SECONDS\` | how long activities at work may go on when their worker is stopped; default 3, see [stop a worker](how-to/run-on-a-cluster.md#stop-a-worker) |
| \`GAUNTLET_LOG\` | level of \`worker.log\` in the store, or beside one in a bucket |
| \`GAUNTLET_DEBUG=1\` | print the stack of an error |`;

export function commandReference(): string {
  const sections = leafCommands(createProgram()).map(({ name, command }) => section(name, command));
  return `${[HEAD, ...sections].join('\n\n')}\n`;
}

function section(name: string, command: Command): string {
  const help = command.createHelp();
  const operands = command.registeredArguments.map((argument) => {
    const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return ` ${argument.required ? `<${text}>` : `[${text}]`}`;
  });
  const rows = [
    ...command.registeredArguments.map((argument) => [argument.name(), help.argumentDescription(argument)]),
    ...command.options.filter(({ hidden }) => !hidden).map((option) => [option.flags, help.optionDescription(option)]),
  ];
  const table = ['| | |', '|---|---|', ...rows.map(([term, text]) => `| \`${term}\` | ${cell(text ?? '')} |`)];
  const lines = [`## \`gauntlet ${name}${operands.join('')}\``, '', sentence(command.description())];
  const examples = ['', '```sh', ...examplesOf(name), '```'];
  return [...lines, ...(rows.length > 0 ? ['', ...table] : []), ...examples].join('\n');
}

/** Makes paths in the checkout relative. */
const cell = (text: string): string => text.replaceAll(`${ROOT}/`, '').replaceAll('|', '\\|').replaceAll('<', '&lt;');
const sentence = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}.`;
