// Reads one request per line from standard input and writes one answer per line to standard output.
import { createInterface } from 'node:readline';

/** Adds the CPU seconds of this process to an answer. If a request fails, the answer is the first line of the error. */
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
