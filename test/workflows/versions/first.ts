// Version 1 of a workflow with running executions. It runs two activities, and waits for a signal between them.
import { condition, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

export const goSignal = defineSignal('go');

interface Acts {
  say(word: string): Promise<string>;
}

export const { say } = proxyActivities<Acts>({ startToCloseTimeout: '10s' });

export async function talk(): Promise<string> {
  let gone = false;
  setHandler(goSignal, () => {
    gone = true;
  });
  const first = await say('one');
  await condition(() => gone);
  return `${first} ${await say('two')}`;
}
