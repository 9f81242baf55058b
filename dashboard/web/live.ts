// Live updates: the server names the runs that recorded something (server-sent events), and answers in which state Temporal
// has a run.
import { useEffect, useState } from 'preact/hooks';
import type { LiveView } from '../api.js';
import { isStatic, loadJson, resource } from './data.js';

type Listener = (changed: string[]) => void;

const listeners = new Set<Listener>();
let source: EventSource | undefined;

function listen(listener: Listener): () => void {
  listeners.add(listener);
  source ??= new EventSource('api/events');
  source.onmessage = ({ data }) => {
    const { changed } = JSON.parse(data) as { changed: string[] };
    for (const each of listeners) each(changed);
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
    if (isStatic) return;
    return listen((changed) => {
      if (run === undefined || changed.includes(run)) setVersion((now) => now + 1);
    });
  }, [run]);
  return version;
}

const POLL_MS = 3000;

/** The state of a run on the Temporal server; `refresh` asks for it at once. Undefined in a static report. */
export function useLive(run: string): { live: LiveView | undefined; refresh: () => void } {
  const [live, setLive] = useState<LiveView>();
  const [count, setCount] = useState(0);
  // `count` starts a new round of questions
  useEffect(() => {
    if (isStatic) return;
    let isCurrent = true;
    let timer: number | undefined;
    const ask = async (): Promise<void> => {
      const lost = ({ message }: Error): LiveView => ({ problem: message, notes: [], actions: [] });
      const answer = (await loadJson(resource('live', run)).catch(lost)) as LiveView;
      if (!isCurrent) return;
      setLive(answer);
      timer = window.setTimeout(ask, POLL_MS);
    };
    void ask();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [run, count]);
  return { live, refresh: () => setCount((now) => now + 1) };
}
