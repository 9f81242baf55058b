// Runs programs with CPython, which is an independent reference for their results.
import { execFileSync, spawnSync } from 'node:child_process';

const RUNNER = `
import ast, json, sys
out = []
for job in json.load(sys.stdin):
    scope = {}
    exec(job["code"], scope)
    answers = []
    for args in job["args"]:
        try:
            answers.append({"value": scope["solve"](*args)})
        except Exception as error:
            answers.append({"error": type(error).__name__})
    out.append({"answers": answers, "tests": [ast.literal_eval(line) for line in job["tests"]]})
json.dump(out, sys.stdout)
`;

/** A program, inputs of its function `solve`, and literals to evaluate. */
export interface PythonJob {
  code: string;
  args: readonly (readonly unknown[])[];
  tests: readonly string[];
}

export const runPython = (jobs: readonly PythonJob[]): { answers: object[]; tests: [unknown[], unknown][] }[] =>
  JSON.parse(execFileSync('python3', ['-I', '-c', RUNNER], { input: JSON.stringify(jobs), encoding: 'utf8' }));

/** A hook that skips suites if there is no python3. */
export function requirePython(this: Mocha.Context): void {
  if (spawnSync('python3', ['--version']).status === 0) return;
  console.log('      skipped: no python3 on this machine');
  this.skip();
}
