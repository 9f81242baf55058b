// Live updates: the server names the runs that recorded something (server-sent events), and answers in which state Temporal
// has a run.
import { useEffect, useState } from 'preact/hooks';
import type { LiveStates, LiveView } from '../api.js';
import { loadJson, report, resource } from './source.js';

type Listener = (changed: 'any' | string[]) => void;

const listeners = new Set<Listener>();
let source: EventSource | undefined;

function listen(listener: Listener): () => void {
  listeners.add(listener);
  source ??= new EventSource('api/events');
  const tell = (changed: 'any' | string[]): void => {
    for (const each of listeners) each(changed);
  };
  source.onmessage = ({ data }) => tell((JSON.parse(data) as { changed: string[] }).changed);
  source.onerror = () => {
    source!.onopen = () => tell('any'); // what was recorded before the page was connected again
  };
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    source?.close();
    source = undefined;
  };
}

/** A number that grows when the run, or any run, has recorded something. */
export function useVersion(run?: string): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    if (report !== undefined) return;
    return listen((changed) => {
      if (run === undefined || changed === 'any' || changed.includes(run)) setVersion((now) => now + 1);
    });
  }, [run]);
  return version;
}

const POLL_MS = 10_000;

/** The state of a run on the Temporal server; `refresh` asks for it at once. Undefined in a report. */
export function useLive(run: string): { live: LiveView | undefined; refresh: () => void } {
  const { answer: live, refresh } = usePoll<LiveView>(resource('live', run), POLL_MS, { notes: [], actions: [] });
  return { live, refresh };
}

/** The states of all runs on the Temporal server. Undefined in a report. */
export const useStates = (): LiveStates | undefined => usePoll<LiveStates>('live', POLL_MS, { states: {} }).answer;

/**
 * What the server answers, asked again after `ms`.
 * @param lost the answer if it cannot be reached, to which the problem is added
 */
function usePoll<T>(path: string, ms: number, lost: T): { answer: T | undefined; refresh: () => void } {
  const [answer, setAnswer] = useState<T>();
  const [count, setCount] = useState(0);
  // `count` starts a new round of questions
  useEffect(() => {
    if (report !== undefined) return;
    let isCurrent = true;
    let timer: number | undefined;
    const ask = async (): Promise<void> => {
      const got = await loadJson(path).catch(({ message }: Error) => ({ ...lost, problem: message }));
      if (!isCurrent) return;
      setAnswer(got as T);
      timer = window.setTimeout(ask, ms);
    };
    void ask();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [path, count]);
  return { answer, refresh: () => setCount((now) => now + 1) };
}
