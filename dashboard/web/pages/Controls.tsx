// What can be asked of a run: the same requests as `gauntlet pause`, `resume`, `stop`, `set` and `fork`. What the run answers,
// or why it refuses, is shown beside the control.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { ConfigField, ControlAnswer, ControlRequest, LiveView, RunView } from '../../api.js';
import { visible } from '../format.js';
import { link } from '../route.js';
import { loadJson, resource } from '../source.js';

interface Props {
  view: Pick<RunView, 'id'>;
  live: LiveView;
  refresh: () => void;
}

export function Controls({ view, live, refresh }: Props) {
  const { problem, actions, notes, failure } = live;
  if (problem !== undefined) return <p class="muted">No controls: {visible(problem)}</p>;
  const lines = [...(failure === undefined ? [] : [failure.text]), ...notes];
  if (lines.length === 0 && actions.every((action) => action === 'change')) return null;
  return (
    <section class="controls" aria-label="Controls">
      {lines.map((line) => (
        <p key={line} class="problem">
          {visible(line)}
        </p>
      ))}
      <Buttons run={view.id} actions={actions} refresh={refresh} />
    </section>
  );
}

type Simple = Exclude<LiveView['actions'][number], 'change'>;

const BUTTONS: Readonly<Record<Simple, { title: string; confirm?: string }>> = {
  pause: { title: 'Pause after this step' },
  resume: { title: 'Resume' },
  retry: { title: 'Try again' },
  skip: { title: 'Skip the step', confirm: 'Skip the step that failed? What it sampled is not trained.' },
  abort: { title: 'End the run', confirm: 'End the run as failed?' },
  stop: { title: 'Stop after this step', confirm: 'Stop the run after this step, with a checkpoint and a result?' },
};

function Buttons({ run, actions, refresh }: { run: string; actions: LiveView['actions']; refresh: () => void }) {
  const { send, isPending, answer } = useControl(run, refresh);
  const ask = (action: Simple): void => {
    const question = BUTTONS[action].confirm;
    if (question === undefined || window.confirm(question)) void send({ action });
  };
  return (
    <div class="bar">
      {actions
        .filter((action) => action !== 'change')
        .map((action) => (
          <button key={action} type="button" disabled={isPending} onClick={() => ask(action)}>
            {BUTTONS[action].title}
          </button>
        ))}
      {answer}
    </div>
  );
}

export function Change({ view, refresh }: { view: RunView; refresh: () => void }) {
  const { send, isPending, answer } = useControl(view.id, refresh);
  const [text, setText] = useState('');
  return (
    <form onSubmit={submitted(() => send({ action: 'change', assignments: linesOf(text) }))}>
      <Assignments fields={view.fields.filter(({ isLive }) => isLive)} text={text} onText={setText} />
      <p class="bar">
        <button type="submit" disabled={isPending}>
          Change from the next step on
        </button>
        {answer}
      </p>
    </form>
  );
}

export function Fork({ view, refresh }: { view: RunView; refresh: () => void }) {
  const { send, isPending, answer } = useControl(view.id, refresh);
  const [text, setText] = useState('');
  const [name, setName] = useState('');
  const [checkpoint, setCheckpoint] = useState(view.best ?? view.checkpoints.at(-1)!.name);
  const fork = (): Promise<void> =>
    send({ action: 'fork', checkpoint, assignments: linesOf(text), ...(name.trim() !== '' && { name: name.trim() }) });
  return (
    <form onSubmit={submitted(fork)}>
      <p class="bar">
        <label>
          Start at{' '}
          <select value={checkpoint} onChange={(event) => setCheckpoint(event.currentTarget.value)}>
            {view.checkpoints.map((each) => (
              <option key={each.name}>{each.name}</option>
            ))}
          </select>
        </label>
        <label>
          Id of the new run{' '}
          <input
            value={name}
            placeholder={`${view.id}-from-${checkpoint.replace('checkpoint_', '')}`}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
      </p>
      <Assignments fields={view.fields} text={text} onText={setText} />
      <p class="bar">
        <button type="submit" disabled={isPending}>
          Start the new run
        </button>
        {answer}
      </p>
    </form>
  );
}

const submitted =
  (work: () => Promise<void>) =>
  (event: Event): void => {
    event.preventDefault();
    void work();
  };

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

interface AssignmentsProps {
  fields: readonly ConfigField[];
  text: string;
  onText: (text: string) => void;
}

/** Lines 'field=value'; choosing a field adds a line with its current value. */
function Assignments({ fields, text, onText }: AssignmentsProps) {
  const id = useId();
  const add = (name: string): void => {
    const { value } = fields.find((field) => field.name === name)!;
    onText([...linesOf(text), `${name}=${value}`].join('\n'));
  };
  return (
    <div class="assignments">
      <label for={id}>Settings, one field=value per line</label>
      <textarea
        id={id}
        rows={3}
        spellcheck={false}
        placeholder="ppo.learningRate=0.001"
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      <label>
        Add a field{' '}
        <select value="" onChange={(event) => add(event.currentTarget.value)}>
          <option value="">choose …</option>
          {fields.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

const SHOWN_MS = 15_000; // later it would seem to describe another state of the run

interface Answer extends ControlAnswer {
  state: 'pending' | 'done' | 'refused';
}
const NOTHING: Answer = { state: 'done', said: '' };

/** Sends requests, and shows the answer to the last one. */
function useControl(
  run: string,
  refresh: () => void,
): { send: (request: ControlRequest) => Promise<void>; isPending: boolean; answer: ComponentChildren } {
  const [answer, setAnswer] = useState<Answer>(NOTHING);
  const send = async (request: ControlRequest): Promise<void> => {
    setAnswer({ state: 'pending', said: 'waiting for the answer …' });
    const options = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    };
    const next = await loadJson(resource('control', run), options).then(
      (body): Answer => ({ state: 'done', ...(body as ControlAnswer) }),
      ({ message }: Error): Answer => ({ state: 'refused', said: message }),
    );
    setAnswer(next);
    if (next.state === 'done' && next.forked === undefined)
      setTimeout(() => setAnswer((now) => (now === next ? NOTHING : now)), SHOWN_MS);
    refresh();
  };
  return {
    send,
    isPending: answer.state === 'pending',
    answer: (
      <span class={answer.state === 'refused' ? 'problem' : 'muted'} role="status">
        {visible(answer.said)} {answer.forked !== undefined && <a href={link('runs', answer.forked)}>open it</a>}
      </span>
    ),
  };
}
