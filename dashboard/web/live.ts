// Live updates: every ten seconds, the pages ask which runs have new records and which states runs have in Temporal.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LiveStates, LiveView, Versions } from '../api.js';
import { loadJson, report, resource } from './source.js';

const POLL_MS = 10_000;

/** A text that changes when the run (or any run) has a new record. It stays the same while the server does not answer. */
export function useVersion(run?: string): string {
  const { answer } = usePoll<Partial<Versions>>('versions', {});
  const known = useRef('');
  if (answer?.versions)
    known.current = (run === undefined ? JSON.stringify(answer.versions) : answer.versions[run]) ?? '';
  return known.current;
}

/** The state of a run on the Temporal server, undefined in a report. `refresh` asks for the state at once. */
export function useLive(run: string): { live: LiveView | undefined; refresh: () => void } {
  const { answer: live, refresh } = usePoll<LiveView>(resource('live', run), { notes: [], actions: [] });
  return { live, refresh };
}

/** The states of all runs on the Temporal server. Undefined in a report. */
export const useStates = (): LiveStates | undefined => usePoll<LiveStates>('live', { states: {} }).answer;

/**
 * The latest answer of the server. Asks again after every answer.
 * @param lost the answer while the server cannot be reached; the problem is added to it
 */
function usePoll<T>(path: string, lost: T): { answer: T | undefined; refresh: () => void } {
  const [answer, setAnswer] = useState<T>();
  const [count, setCount] = useState(0);
  // lists `count`, because `refresh` changes it to ask at once
  useEffect(() => {
    if (report !== undefined) return;
    let isCurrent = true;
    let timer: number | undefined;
    const ask = async (): Promise<void> => {
      const got = await loadJson(path).catch(({ message }: Error) => ({ ...lost, problem: message }));
      if (!isCurrent) return;
      setAnswer(got as T);
      timer = window.setTimeout(ask, POLL_MS);
    };
    void ask();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [path, count]);
  return { answer, refresh: () => setCount((now) => now + 1) };
}
