// One request a line on standard input, one answer a line on standard output, until the input ends.
import { createInterface } from 'node:readline';

/** Answers carry the CPU seconds that this process has used so far; a failure is its first line. */
export async function serve<R extends { id: number; op: string }>(
  handlers: Record<string, (request: R) => unknown>,
): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line) as R;
    let answer: object;
    try {
      const handler = handlers[request.op];
      if (!handler) throw new Error(`unknown op ${request.op}`);
      const result = await handler(request);
      const { user, system } = process.cpuUsage();
      answer = { result, cpu: (user + system) / 1e6 };
    } catch (error) {
      answer = { error: (error as Error).message.split('\n')[0] };
    }
    process.stdout.write(`${JSON.stringify({ id: request.id, ...answer })}\n`);
  }
}
