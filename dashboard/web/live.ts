// Live updates: which runs recorded something, and in which state Temporal has a run. Pages ask the server every ten seconds.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LiveStates, LiveView, Versions } from '../api.js';
import { loadJson, report, resource } from './source.js';

const POLL_MS = 10_000;

/** A text that changes when the run, or any run, has recorded something. It stays while the server cannot be reached. */
export function useVersion(run?: string): string {
  const { answer } = usePoll<Partial<Versions>>('versions', POLL_MS, {});
  const known = useRef('');
  if (answer?.versions)
    known.current = (run === undefined ? JSON.stringify(answer.versions) : answer.versions[run]) ?? '';
  return known.current;
}

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
