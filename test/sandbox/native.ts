// Runs test source in a plain Python process, with program and tests in one module, for comparison with the two processes of
// the sandbox. The code runs with the rights of the test.
import { spawn, spawnSync } from 'node:child_process';

export const NATIVE_PYTHON = process.env.GAUNTLET_PYTHON ?? 'python3';

/** The reason why there is no plain Python with numpy; undefined if there is one. */
export function whyNoNative(): string | undefined {
  const { status, stderr, error } = spawnSync(NATIVE_PYTHON, ['-c', 'import numpy'], { encoding: 'utf8' });
  if (status === 0) return undefined;
  return `${NATIVE_PYTHON}: ${error?.message ?? stderr.trim().split('\n').at(-1)} (GAUNTLET_PYTHON names another)`;
}

const LIMITED = `import resource, sys
cpu, memory = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
exec(compile(sys.stdin.read(), 'native', 'exec'), {'__name__': 'native'})
print('passed')
`;

export interface NativeResult {
  outcome: 'pass' | 'fail' | 'timeout';
  message: string;
}

/** The outcome is pass if the source ran to its end. */
export function runNative(
  source: string,
  { cpuSeconds, memoryMb }: { cpuSeconds: number; memoryMb: number },
): Promise<NativeResult> {
  return new Promise((settle, fail) => {
    const child = spawn(NATIVE_PYTHON, ['-c', LIMITED, String(cpuSeconds), String(memoryMb * 2 ** 20)], {
      env: { PATH: process.env.PATH, PYTHONHASHSEED: '0', OPENBLAS_NUM_THREADS: '1' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let [out, err] = ['', ''];
    child.stdout.on('data', (text) => {
      out = (out + text).slice(-100);
    });
    child.stderr.on('data', (text) => {
      err = (err + text).slice(-2000);
    });
    child.stdin.on('error', () => undefined); // the process may end before it reads its input
    child.stdin.end(source);
    const timer = setTimeout(() => child.kill('SIGKILL'), 6000 * cpuSeconds);
    child.on('error', fail);
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      const message = err.trim().split('\n').at(-1) ?? '';
      if (signal === 'SIGXCPU' || signal === 'SIGKILL') settle({ outcome: 'timeout', message: signal });
      else settle({ outcome: status === 0 && out.endsWith('passed\n') ? 'pass' : 'fail', message });
    });
  });
}
