// A hook with which components load resources (api.ts).
import { useEffect, useState } from 'preact/hooks';
import { source } from './source.js';

export type Loaded<T> = { data?: T; error?: string };

const RETRY_MS = 10_000;

/**
 * Loads the resource at a path, and loads it again when the path or `version` changes. If the server does not answer, it asks
 * again, and what was loaded before stays.
 */
export function useResource<T>(path: string | undefined, version: unknown = 0): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { path?: string | undefined }>({});
  // lists `version`, because a new version means new data at the same path
  useEffect(() => {
    if (path === undefined) return;
    let isCurrent = true;
    let timer: number | undefined;
    const load = async (): Promise<void> => {
      try {
        const data = (await source.load(path)) as T;
        if (isCurrent) setLoaded({ data, path });
      } catch (error) {
        if (!isCurrent) return;
        const isUnanswered = error instanceof TypeError; // fetch throws it without an answer
        const failed = { error: (error as Error).message, path };
        setLoaded((now) => (isUnanswered && now.path === path && now.data !== undefined ? now : failed));
        if (isUnanswered) timer = window.setTimeout(load, RETRY_MS);
      }
    };
    void load();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [path, version]);
  return loaded.path === path ? loaded : {};
}
