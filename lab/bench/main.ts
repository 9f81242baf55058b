// `npm run bench`: compares this engine with torch + transformers + peft and with llama.cpp on one machine.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { GauntletError } from '../../core/base/errors.js';
import { ROOT } from '../../infra/root.mjs';
import { scriptArguments } from '../../infra/scripts.js';
import { LabError } from '../flags.js';
import { exitCode, LLAMA_REQUIREMENTS, providePython, TORCH_REQUIREMENTS } from '../python.js';
import { CASES, type Case, type Contender, REAL_CASES, selectCases } from './cases.js';
import { benchGpu } from './gpu/main.js';
import { BUSY, currentCommit, describeIdleMachine, say } from './machine.js';
import { type BenchOptions, commandLine, parseOptions, USAGE } from './options.js';
import { Peer } from './peers/peer.js';
import { type BenchResults, type CaseResult, markdown, recordPart, saveJson, verdict, withResults } from './results.js';
import { Runner } from './runner.js';
import { provideShape, type ShapeName } from './shapes.js';
import { provideSmolLM2 } from './smollm2.js';

const cache = join(ROOT, '.cache', 'bench');
const page = join(ROOT, 'lab', 'bench', 'BENCHMARKS.md');
/** Sorts the results in the order of the table of cases. */
const inOrder = (all: readonly Case[], results: CaseResult[]): CaseResult[] =>
  all.flatMap(({ id }) => results.filter((result) => result.id === id));

async function bench(all: readonly Case[], options: BenchOptions, save: (results: BenchResults) => void) {
  const cases = selectCases(all, options.only, options.quick);
  if (cases.length === 0)
    throw new LabError(`no case name contains ${options.only.join(' or ')}; --list shows them`, 2);
  if (options.list) {
    for (const { id, contenders } of cases) console.log(`${id} (${contenders.join(', ')})`);
    return;
  }
  const python = await environment(options);
  const machine = describeIdleMachine();
  const threads = options.threads ?? availableParallelism();
  say(`${machine.cpu}, ${machine.cores} cores, load ${machine.loadAtStart}; ${threads} threads on each side`);
  const started = new Date();
  const { contenders, rounds, seconds } = options;
  const start = (name: Contender) => startPeer(name, python, options);
  const runner = new Runner({ contenders, rounds, seconds, warmMs: 1000, settleMs: 250, say, start });
  const results: BenchResults = {
    command: commandLine(process.argv.slice(2)),
    startedAt: started.toISOString(),
    commit: currentCommit(),
    seconds: 0,
    threads,
    machine,
    versions: {},
    cases: [],
  };
  const keep = (): void => {
    results.seconds = (Date.now() - started.getTime()) / 1000;
    saveJson(options.out ?? join(cache, 'results.json'), results);
  };
  const finish = (): void => {
    keep();
    if (options.record) save(results);
    console.log(markdown(results));
  };
  const stop = (): never => {
    if (results.cases.length > 0) finish();
    process.exit(130); // also ends the peers
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    results.versions = await runner.hello();
    for (const [i, c] of cases.entries()) {
      const model = await provideModel(c.shape, contenders.includes('llama') ? python : undefined);
      const result = await runner.run(c, model);
      results.cases = inOrder(all, [...results.cases, result]);
      keep();
      say(`[${i + 1}/${cases.length}] ${line(result)}`);
    }
  } finally {
    await runner.close();
  }
  finish();
}

type Recorded = Partial<BenchResults> & { real?: BenchResults };

const recordFile = join(ROOT, 'lab', 'bench', 'results.json');
const recorded = (): Recorded =>
  existsSync(recordFile) ? (JSON.parse(readFileSync(recordFile, 'utf8')) as Recorded) : {};

/** Joins the cases of a run with cases of earlier runs that this run left out. */
const withEarlier = (all: readonly Case[], { cases }: BenchResults, earlier: CaseResult[] = []): CaseResult[] =>
  inOrder(all, [...cases, ...earlier.filter(({ id }) => !cases.some((own) => own.id === id))]);

/** Writes the page and lab/bench/results.json. */
function record(results: BenchResults): void {
  const earlier = recorded();
  const all = { ...earlier, ...results, cases: withEarlier(CASES, results, earlier.cases) };
  saveJson(recordFile, all);
  writeFileSync(page, withResults(readFileSync(page, 'utf8'), markdown(all)));
}

function recordReal(results: BenchResults): void {
  const all = { ...results, cases: withEarlier(REAL_CASES, results, recorded().real?.cases) };
  recordPart('real', all, markdown(all));
}

async function environment({ contenders, venv }: BenchOptions): Promise<string> {
  const requirements = [
    ...(contenders.includes('torch') || contenders.includes('torch-trained') ? [TORCH_REQUIREMENTS] : []),
    ...(contenders.includes('llama') ? [LLAMA_REQUIREMENTS] : []),
  ];
  if (requirements.length === 0) return '';
  try {
    return await providePython({ requirements, venv, say });
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    throw new LabError(`${error.message}; --without torch,llama leaves the peers out`);
  }
}

function startPeer(name: Contender, python: string, { threads }: BenchOptions): Peer {
  if (name === 'ours') {
    const script = scriptArguments(new URL('./peers/ours.js', import.meta.url));
    return Peer.start(name, process.execPath, script, threads ? { GAUNTLET_THREADS: `${threads}` } : {});
  }
  const count = `${threads ?? availableParallelism()}`;
  const env = { OMP_NUM_THREADS: count, CUDA_VISIBLE_DEVICES: '', HF_HUB_OFFLINE: '1' };
  const [file, ...variant] = name.split('-');
  const script = join(ROOT, 'lab', 'bench', 'peers', `${file}_peer.py`);
  return Peer.start(name, python, ['-W', 'ignore', script, count, ...variant], env);
}

/** The folder of the shape. If a Python is given, it also has a GGUF file with the same weights. */
async function provideModel(shape: ShapeName, python: string | undefined): Promise<string> {
  if (shape === 'smollm2') return provideSmolLM2(join(cache, 'models'), say);
  const folder = join(cache, 'models', shape);
  if (!existsSync(folder)) say(`writing random weights of ${shape}`);
  provideShape(shape, join(cache, 'models'));
  const gguf = join(folder, 'model.gguf');
  if (python !== undefined && !existsSync(gguf)) {
    const code = await exitCode(python, [join(ROOT, 'lab', 'bench', 'peers', 'write_gguf.py'), folder, gguf]);
    if (code !== 0) say(`no GGUF file of ${shape} (exit ${code}): see the lines above`);
  }
  return folder;
}

/** Describes one case in a line of text. */
function line(result: CaseResult): string {
  const unit = (x: number): string =>
    result.group === 'memory' ? `${Math.round(x / 1e6)} MB` : `${(x * 1000).toFixed(1)} ms`;
  const figures = Object.entries(result.figures).map(([name, m]) => `${name} ${unit(m.median)}`);
  const ratios = Object.entries(result.ratios).map(([name, ratio]) => `${ratio.toFixed(2)}× ${name}`);
  const others = result.foreignCores > BUSY ? `others used ${result.foreignCores.toFixed(1)} cores` : '';
  return [
    `${result.id}:`,
    figures.join(', '),
    ratios.length > 0 ? `(${ratios.join(', ')})` : '',
    verdict(result),
    others,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

try {
  const [part, ...rest] = process.argv.slice(2);
  if (part === 'gpu') await benchGpu(rest);
  else {
    const isReal = part === 'real';
    const options = parseOptions(isReal ? rest : process.argv.slice(2));
    if (options.help) console.log(USAGE);
    else if (isReal) await bench(REAL_CASES, options, recordReal);
    else await bench(CASES, options, record);
  }
} catch (error) {
  if (!(error instanceof LabError || error instanceof GauntletError)) throw error;
  say(error.message);
  process.exitCode = error instanceof LabError ? error.exitCode : 1;
}
