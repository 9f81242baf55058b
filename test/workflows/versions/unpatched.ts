// The same change without `patched`: runs of version 1 cannot be replayed.
import { condition, setHandler, sleep } from '@temporalio/workflow';
import { goSignal, say } from './first.js';

export async function talk(): Promise<string> {
  let gone = false;
  setHandler(goSignal, () => {
    gone = true;
  });
  await sleep('1ms');
  const hello = await say('hello');
  const first = await say('one');
  await condition(() => gone);
  return `${hello} ${first} ${await say('two')}`;
}
