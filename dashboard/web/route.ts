// Addresses of pages. An address is the part of the URL after #, so that the pages also work from a file. The parts of a
// path are percent-encoded.
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  path: string[];
  query: URLSearchParams;
}

export const link = (...path: (string | number)[]): string =>
  `#/${path.map((part) => encodeURIComponent(part)).join('/')}`;

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const update = (): void => {
      setHash(location.hash);
      window.scrollTo(0, 0);
      document.getElementById('main')?.focus({ preventScroll: true }); // the Tab key continues in the new page
    };
    window.addEventListener('hashchange', update);
    setHash(location.hash); // the address may have changed before the listener was added
    return () => window.removeEventListener('hashchange', update);
  }, []);
  const [path = '', query] = hash.replace(/^#\/?/, '').split('?');
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: new URLSearchParams(query),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
