// Live updates: the server names the runs that recorded something (server-sent events).
import { useEffect, useState } from 'preact/hooks';
import { isStatic } from './data.js';

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
