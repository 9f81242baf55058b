// Addresses: everything after #, so that the same pages work from files. Parts of a path are encoded.
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
      document.getElementById('main')?.focus({ preventScroll: true }); // a keyboard goes on in the new page
    };
    window.addEventListener('hashchange', update);
    setHash(location.hash); // it may have changed before this line
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
