// Examples in the help of each command. A test compares them with the commands and their options.
import type { Command } from 'commander';

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  demo: ['demo', 'demo --seed 1 --set schedule.generatorSteps=6'],
  train: [
    'train --preset tiny --seed 1 --watch',
    'train first --config my.json --set ppo.learningRate=0.0005 -w',
    'train --preset smollm2-135m --problems problems.jsonl --watch',
  ],
  status: ['status', 'status demo-seed-0 --watch'],
  resume: ['resume demo-seed-0 --watch', 'resume demo-seed-0 --skip'],
  pause: ['pause demo-seed-0'],
  stop: ['stop demo-seed-0'],
  set: ['set demo-seed-0 ppo.learningRate=0.001 budget.tokens=1e7'],
  fork: ['fork demo-seed-0/checkpoint_stage_3_epoch_2 bolder --set ppo.learningRate=0.003 --watch'],
  'schedule create': ["schedule create nightly --cron '0 2 * * *' --time-zone Europe/Berlin"],
  'schedule list': ['schedule list'],
  'schedule show': ['schedule show nightly'],
  'schedule trigger': ['schedule trigger nightly'],
  'schedule pause': ['schedule pause nightly'],
  'schedule resume': ['schedule resume nightly'],
  'schedule delete': ['schedule delete nightly'],
  'schedule backfill': ['schedule backfill nightly --from 2026-01-01T00:00:00Z --to 2026-01-03T00:00:00Z'],
  dashboard: ['dashboard', 'dashboard --host 0.0.0.0 --port 8080'],
  report: ['report', 'report demo-seed-0'],
  export: [
    'export --format jsonl --rollouts --out lines',
    'export demo-seed-0 --format tensorboard --out logs/demo',
    'export demo-seed-0 --format inspect --out evaluations',
  ],
  replay: ['replay demo-seed-0', 'replay demo-seed-0 --step 12 --execute'],
  'checkpoints list': ['checkpoints list', 'checkpoints list demo-seed-0 --json'],
  'checkpoints export': [
    'checkpoints export demo-seed-0/best --format safetensors --out merged',
    'checkpoints export my-run --format gguf --type Q8_0 --out model.gguf',
  ],
  'checkpoints show': ['checkpoints show', 'checkpoints show demo-seed-0/latest'],
  evaluate: [
    'evaluate',
    'evaluate demo-seed-0/best --against base',
    'evaluate --model Qwen/Qwen2.5-Coder-0.5B-Instruct --problems humaneval.jsonl --temperature 0',
    'evaluate mine/best --against other/best --problems humaneval.jsonl --samples 10',
  ],
  compare: ['compare plain-1 plain-2 plain-3', 'compare bold-1 bold-2 bold-3 --against plain-1 plain-2 plain-3'],
  show: ['show', 'show demo-seed-0/latest --limit 3', 'show --model tiny'],
  solve: [
    'solve problems.json',
    'solve problems.json demo-seed-0/best --samples 8 --select tests',
    'solve problems.json --model tiny',
  ],
  serve: ['serve', 'serve demo-seed-0/best --port 8000', 'serve --model tiny --samples 4'],
  up: ['up', 'up --port 7300 --sandbox docker'],
  worker: ['worker', 'worker --role gpu,sandbox --device cuda'],
  temporal: ['temporal workflow list'],
  'store verify': ['store verify', 'store verify demo-seed-0 --json'],
  'store copy': ['store copy .gauntlet s3://my-bucket/team'],
  'store gc': ['store gc --dry-run', 'store gc --older-than 30'],
  doctor: ['doctor'],
  setup: ['setup cuda'],
  'model inspect': ['model inspect --model data/tiny-model'],
  'model import': [
    'model import model.Q4_K_M.gguf --out my-model',
    'model import model.gguf --out my-model --dtype bf16',
  ],
  'problems check': ['problems check problems.jsonl', 'problems check HumanEvalPlus.jsonl.gz --packages numpy'],
  'problems import': ['problems import mbpp.jsonl --out problems.jsonl'],
  attack: ['attack new.py --against old.py', 'attack new.py --against old.py --function solve --out test_attack.py'],
  harden: [
    'harden problems.jsonl --out hardened.jsonl',
    'harden problems.jsonl --programs samples.jsonl --out hardened.jsonl',
  ],
  'sandbox run': ['sandbox run --input programs.jsonl', 'sandbox run -i programs.jsonl --mode pytest --sandbox docker'],
  'sandbox serve': ['sandbox serve', 'sandbox serve --host 0.0.0.0 --packages numpy --memory-mb 2048'],
  'config schema': ['config schema > gauntlet.config.schema.json'],
};

/** Every command that does something, in the order of --help; the name is without `gauntlet`. */
export function leafCommands(command: Command, path: string[] = []): { name: string; command: Command }[] {
  if (command.commands.length === 0) return [{ name: path.join(' '), command }];
  return command.commands.flatMap((child) => leafCommands(child, [...path, child.name()]));
}

export const examplesOf = (name: string): string[] => (EXAMPLES[name] ?? []).map((words) => `npx gauntlet ${words}`);

export function addExamples(program: Command): void {
  for (const { name, command } of leafCommands(program)) {
    command.addHelpText(
      'after',
      `\nExamples:\n${examplesOf(name)
        .map((line) => `  ${line}\n`)
        .join('')}`,
    );
  }
}
