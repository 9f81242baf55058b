// Buttons that send requests to a run, as `gauntlet pause`, `resume` and `stop` do. The answer of the run, or the reason why
// it refuses, appears beside the buttons.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ControlAnswer, ControlRequest, LiveView } from '../../api.js';
import { visible } from '../format.js';
import { loadJson, resource } from '../source.js';

interface Props {
  run: string;
  live: LiveView;
  refresh: () => void;
}

export function Controls({ run, live, refresh }: Props) {
  const { problem, actions, notes, failure } = live;
  if (problem !== undefined) return <p class="muted">No controls: {visible(problem)}</p>;
  const lines = [...(failure === undefined ? [] : [failure.text]), ...notes];
  if (lines.length + actions.length === 0) return null;
  return (
    <section class="controls" aria-label="Controls">
      {lines.map((line) => (
        <p key={line} class="problem">
          {visible(line)}
        </p>
      ))}
      <Buttons run={run} actions={actions} refresh={refresh} />
    </section>
  );
}

type Action = ControlRequest['action'];

const BUTTONS: Readonly<Record<Action, { title: string; confirm?: string }>> = {
  pause: { title: 'Pause after this step' },
  resume: { title: 'Resume' },
  retry: { title: 'Try again' },
  skip: { title: 'Skip the step', confirm: 'Skip the step that failed? What it sampled is not trained.' },
  abort: { title: 'End the run', confirm: 'End the run as failed?' },
  stop: { title: 'Stop after this step', confirm: 'Stop the run after this step, with a checkpoint and a result?' },
};

function Buttons({ run, actions, refresh }: { run: string; actions: LiveView['actions']; refresh: () => void }) {
  const { send, isPending, answer } = useControl(run, refresh);
  const ask = (action: Action): void => {
    const question = BUTTONS[action].confirm;
    if (question === undefined || window.confirm(question)) void send({ action });
  };
  return (
    <div class="bar">
      {actions.map((action) => (
        <button key={action} type="button" disabled={isPending} onClick={() => ask(action)}>
          {BUTTONS[action].title}
        </button>
      ))}
      {answer}
    </div>
  );
}

const SHOWN_MS = 15_000; // an answer disappears after this time, because the state of the run may have changed

interface Answer extends ControlAnswer {
  state: 'pending' | 'done' | 'refused';
}
const NOTHING: Answer = { state: 'done', said: '' };

/** Sends requests, and shows the answer to the latest request. */
function useControl(
  run: string,
  refresh: () => void,
): { send: (request: ControlRequest) => Promise<void>; isPending: boolean; answer: ComponentChildren } {
  const [answer, setAnswer] = useState<Answer>(NOTHING);
  const send = async (request: ControlRequest): Promise<void> => {
    setAnswer({ state: 'pending', said: 'waiting for the answer …' });
    const headers = { 'content-type': 'application/json' };
    const options = { method: 'POST', headers, body: JSON.stringify(request) };
    const next = await loadJson(resource('control', run), options).then(
      (body): Answer => ({ state: 'done', ...(body as ControlAnswer) }),
      ({ message }: Error): Answer => ({ state: 'refused', said: message }),
    );
    setAnswer(next);
    if (next.state === 'done') setTimeout(() => setAnswer((now) => (now === next ? NOTHING : now)), SHOWN_MS);
    refresh();
  };
  return {
    send,
    isPending: answer.state === 'pending',
    answer: (
      <span class={answer.state === 'refused' ? 'problem' : 'muted'} role="status">
        {visible(answer.said)}
      </span>
    ),
  };
}
