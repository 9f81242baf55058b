// `npm run check:cuda`: checks without a GPU how our graphs use CUDA. See CONTRIBUTING.md.
import { FLAG, LabError, LIST, readFlags, TEXT } from '../flags.js';
import type { CheckOptions } from './checks.js';
import { runOnFakeCuda } from './provide.js';

const USAGE = `npm run check:cuda -- [options]
  --only PART          checks whose name contains PART
  --limit 'WHAT=N'     another limit, such as launches=9000 (may be repeated)
  --json               print JSON`;

function optionsOf(args: string[]): CheckOptions | undefined {
  const flags = readFlags(args, { only: TEXT, limit: LIST, json: FLAG, help: FLAG });
  if (flags.help) return undefined;
  const limits = (flags.limit ?? []).map((text) => {
    const [, what, number] = /^(.+)=(\d+)$/.exec(text) ?? [];
    if (what === undefined) throw new LabError(`--limit must be WHAT=N, is ${text}`, 2);
    return [what, Number(number)] as const;
  });
  return { only: flags.only ?? '', limits: Object.fromEntries(limits), json: flags.json === true };
}

try {
  const options = optionsOf(process.argv.slice(2));
  if (options) {
    const script = new URL('./checks.js', import.meta.url);
    const say = (line: string): void => console.error(`check:cuda: ${line}`);
    process.exitCode = await runOnFakeCuda(script, [JSON.stringify(options)], say);
  } else console.log(USAGE);
} catch (error) {
  console.error(`check:cuda: ${(error as Error).message}`);
  process.exitCode = error instanceof LabError ? error.exitCode : 1;
}
