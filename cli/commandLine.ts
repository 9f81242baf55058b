// Command lines that messages tell people to type.
import { DEFAULT_STORE, storePlace } from '../store/openStore.js';

let store = ''; // the --store of the running command; empty for the default one

/** Called when a command has read its --store, and without a folder when it has ended. */
export function useStore(folder?: string): void {
  store =
    folder === undefined || folder === storePlace(process.env.GAUNTLET_STORE || DEFAULT_STORE)
      ? ''
      : ` --store ${quoted(folder)}`;
}

/** One word of a shell. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** With the --store that the running command was given. */
export const commandLine = (words: string): string => `npx gauntlet ${words}${store}`;
