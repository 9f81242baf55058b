// Version 2 runs another activity first. With `patched`, executions of version 1 keep their old path.
import { condition, patched, setHandler } from '@temporalio/workflow';
import { goSignal, say } from './first.js';

export async function talk(): Promise<string> {
  let gone = false;
  setHandler(goSignal, () => {
    gone = true;
  });
  const hello = patched('greeting') ? `${await say('hello')} ` : '';
  const first = await say('one');
  await condition(() => gone);
  return `${hello}${first} ${await say('two')}`;
}
