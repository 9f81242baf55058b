// Loads resources (api.ts): from the server, or in a static report from script files, because a page that was opened from
// a file may load scripts but no JSON.
import { useEffect, useState } from 'preact/hooks';
import { scriptPath } from './scriptPath.js';

/** The run of a report that was written to files. */
export const exportedRun = document.querySelector<HTMLMetaElement>('meta[name="gauntlet-run"]')?.content;

/** Whether the pages were written to files. */
export const isStatic = exportedRun !== undefined;

declare global {
  interface Window {
    gauntletData?: (path: string, data: unknown) => void;
  }
}

const received = new Map<string, unknown>();
window.gauntletData = (path, data) => received.set(path, data);

async function load(path: string): Promise<unknown> {
  return isStatic ? loadScript(path) : loadJson(path);
}

export async function loadJson(path: string, options?: RequestInit): Promise<unknown> {
  const response = await fetch(`api/${path}`, options);
  const body = await response.json();
  if (!response.ok) throw new Error(body.error?.message ?? response.statusText);
  return body;
}

function loadScript(path: string): Promise<unknown> {
  if (received.has(path)) return Promise.resolve(received.get(path));
  return new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = scriptPath(path);
    script.onload = () => resolve(received.get(path));
    script.onerror = () => reject(new Error('this report does not contain the page'));
    document.head.append(script);
  });
}

export type Loaded<T> = { data?: T; error?: string };

/** The resource at a path; loaded again when the path changes or, from the server, when `version` does. */
export function useResource<T>(path: string | undefined, version: unknown = 0): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { path?: string | undefined }>({});
  // a new version means new data at the same path
  useEffect(() => {
    if (path === undefined) return;
    let isCurrent = true;
    const finish = (result: Loaded<T>): void => {
      if (isCurrent) setLoaded({ ...result, path });
    };
    load(path).then(
      (data) => finish({ data: data as T }),
      (error: Error) => finish({ error: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [path, version]);
  return loaded.path === path ? loaded : {};
}

/** Path of a resource. */
export const resource = (...path: (string | number)[]): string =>
  path.map((part) => encodeURIComponent(part)).join('/');
