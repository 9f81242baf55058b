// A hook with which components load resources (api.ts).
import { useEffect, useState } from 'preact/hooks';
import { source } from './source.js';

export type Loaded<T> = { data?: T; error?: string };

/** Loads the resource at a path, and loads it again when the path or `version` changes. */
export function useResource<T>(path: string | undefined, version: unknown = 0): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { path?: string | undefined }>({});
  // lists `version`, because a new version means new data at the same path
  useEffect(() => {
    if (path === undefined) return;
    let isCurrent = true;
    const finish = (result: Loaded<T>): void => {
      if (isCurrent) setLoaded({ ...result, path });
    };
    source.load(path).then(
      (data) => finish({ data: data as T }),
      (error: Error) => finish({ error: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [path, version]);
  return loaded.path === path ? loaded : {};
}
