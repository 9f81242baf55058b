// Command lines that messages tell people to type.
import { resolve } from 'node:path';
import { DEFAULT_STORE, storePlace } from '../../store/openStore.js';

let store = ''; // the option --store of the running command; empty for the default store
let folder = ''; // the place of its store; empty if the command has no store

/** Sets the store of the running command. Called without a place when the command has ended. */
export function useStore(place = ''): void {
  folder = place;
  const isDefault = place === '' || place === storePlace(process.env.GAUNTLET_STORE || DEFAULT_STORE);
  store = isDefault ? '' : ` --store ${quoted(place)}`;
}

/** Whether a file belongs to the store of the running command. */
export const isInStore = (path: string): boolean =>
  folder !== '' && `${resolve(path)}/`.startsWith(`${resolve(folder)}/`);

/** Quotes a text as one word of a shell. */
export const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The command line for these words, with the --store that the running command was given. */
export const commandLine = (words: string): string => `npx gauntlet ${words}${store}`;
