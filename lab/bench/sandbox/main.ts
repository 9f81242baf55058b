// `npm run bench -- sandbox`: executions per second of this sandbox and of simple schemes.
import { join } from 'node:path';
import { ROOT } from '../../../infra/root.mjs';
import { providePython } from '../../python.js';
import { describeIdleMachine, say } from '../machine.js';
import { BenchError, commandLine } from '../options.js';
import { recordPart, saveJson } from '../results.js';
import { CONTENDERS, type Contender, startContender } from './contenders.js';
import { measure } from './measure.js';
import { parseSandboxOptions, SANDBOX_USAGE } from './options.js';
import { type SandboxResults, sandboxMarkdown } from './table.js';

export async function benchSandbox(args: string[]): Promise<void> {
  const options = parseSandboxOptions(args);
  if (options.help) return console.log(SANDBOX_USAGE);
  const python = options.contenders.some((name) => 'scheme' in CONTENDERS[name])
    ? await providePython({
        requirements: [join('lab', 'bench', 'requirements-sandbox.txt')],
        venv: options.venv,
        folder: join(ROOT, '.cache', 'python-sandbox'),
        say,
      })
    : '';
  const machine = describeIdleMachine();
  const started = new Date();
  const start = (name: Contender) => startContender(name, python);
  const { contenders, levels, rounds, roundSeconds } = options;
  const versions = await versionsOf(contenders, start);
  const figures = await measure({ contenders, start, levels, rounds, roundSeconds, settleMs: 100, say });
  const results: SandboxResults = {
    command: commandLine(['sandbox', ...args]),
    startedAt: started.toISOString(),
    seconds: (Date.now() - started.getTime()) / 1000,
    machine,
    versions,
    ...figures,
  };
  saveJson(options.out ?? join(ROOT, '.cache', 'bench', 'sandbox.json'), results);
  const text = sandboxMarkdown(results);
  if (options.record) recordPart('sandbox', results, text);
  console.log(text);
  if (figures.figures.length === 0) throw new BenchError('nothing could be measured: see the lines above');
}

async function versionsOf(
  contenders: readonly Contender[],
  start: (name: Contender) => ReturnType<typeof startContender>,
) {
  const versions: Record<string, string> = {};
  for (const name of contenders) {
    const peer = start(name);
    Object.assign(versions, (await peer.request<Record<string, string>>('hello')).result);
    await peer.close();
  }
  return versions;
}
