// What the hub says about a model or a data set: its commit, and the files that are needed from it. Its answers are untrusted:
// names and digests become paths of the cache, and sizes decide how much is downloaded.
import { datasetInfo, listFiles, modelInfo } from '@huggingface/hub';
import { proxiedFetch } from '../../infra/proxy.js';
import { hubToken } from './environment.js';
import { watchPace } from './pace.js';

export interface HubFile {
  name: string;
  size: number; // bytes
  digest: string; // sha256 of a large file, the id of a git blob of others; the name of the file in the cache
}

export interface HubModel {
  commit: string;
  files: HubFile[]; // config.json is the last, weights come before it
}

const TEXT = /^((config|generation_config|chat_template|tokenizer|tokenizer_config)\.json|chat_template\.jinja)$/;
const SINGLE = 'model.safetensors';
const INDEX = 'model.safetensors.index.json';
const SHARD = /^model-(\d{5})-of-(\d{5})\.safetensors$/;

const MAX_ENTRIES = 10_000;
const MAX_TEXT = 256 * 2 ** 20;
const MAX_LARGE = 2 ** 40;
export const MAX_ANSWER = 32 * 2 ** 20;
const MAX_REQUESTS = 100; // a page of the hub has up to 1,000 entries

/** The message repeats nothing that the hub wrote, except names of files that are needed. */
export class InvalidAnswer extends Error {}

/** @throws InvalidAnswer if the answer cannot be used, the client's error if the hub refuses, or an error of the parser */
export async function listModel(hubUrl: string, id: string, revision: string): Promise<HubModel> {
  const { commit, files } = await list(hubUrl, { type: 'model', name: id }, revision, isNeeded);
  return { commit, files: complete(files) };
}

/** The data files of a data set, by name. @throws what listModel throws */
export async function listDataset(hubUrl: string, id: string, revision: string): Promise<HubModel> {
  const { commit, files } = await list(hubUrl, { type: 'dataset', name: id }, revision, isData);
  return { commit, files: files.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

async function list(
  hubUrl: string,
  repo: { type: 'model' | 'dataset'; name: string },
  revision: string,
  isWanted: (path: string) => boolean,
): Promise<HubModel> {
  const fetch = hubFetch(hubUrl);
  const asked = { name: repo.name, revision, hubUrl, fetch };
  const { sha } =
    repo.type === 'model'
      ? await modelInfo({ ...asked, additionalFields: ['sha'] })
      : await datasetInfo({ ...asked, additionalFields: ['sha'] });
  if (typeof sha !== 'string' || !/^[0-9a-f]{40}$/.test(sha)) throw new InvalidAnswer('it names no commit');
  const files: HubFile[] = [];
  let entries = 0;
  const recursive = repo.type === 'dataset';
  for await (const { type, path, size, oid, lfs } of listFiles({ repo, revision: sha, recursive, hubUrl, fetch })) {
    if (++entries > MAX_ENTRIES) throw new InvalidAnswer(`it lists more than ${MAX_ENTRIES} files`);
    if (type === 'file' && isWanted(path)) files.push(checked({ name: path, size, digest: lfs?.oid ?? oid ?? '' }));
  }
  return { commit: sha, files };
}

/** Text and tables; no part of the path is hidden or leads out of the folder. */
export const isData = (path: string): boolean =>
  path.length < 500 && /^(?:[\w-][\w.+=,-]*\/)*[\w-][\w.+=,-]*\.(?:jsonl?(?:\.(?:gz|zst))?|parquet)$/.test(path);

/** The names that are downloaded: none leaves the folder, none is a program or a pickle. */
const isNeeded = (path: string): boolean => TEXT.test(path) || path === INDEX || isWeights(path);

const isWeights = (name: string): boolean => name === SINGLE || SHARD.test(name);

export function checked(file: HubFile): HubFile {
  const { name, size, digest } = file;
  const max = isWeights(name) || (isData(name) && !TEXT.test(name)) ? MAX_LARGE : MAX_TEXT;
  if (!Number.isSafeInteger(size) || size < 0 || size > max) throw new InvalidAnswer(`it gives ${name} no usable size`);
  if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(digest)) throw new InvalidAnswer(`it gives ${name} no digest`);
  return file;
}

/** The files in the order in which they become visible. Leaves out shards if the weights are also in a single file. */
function complete(files: HubFile[]): HubFile[] {
  const names = files.map(({ name }) => name);
  if (!names.includes('config.json') || !hasWeights(names))
    throw new InvalidAnswer('it has no config.json or no safetensors');
  const used = names.includes(SINGLE) ? files.filter(({ name }) => name !== INDEX && !SHARD.test(name)) : files;
  const order = ({ name }: HubFile): number => (name === 'config.json' ? 2 : isWeights(name) ? 1 : 0);
  return used.sort((a, b) => order(a) - order(b) || (a.name < b.name ? -1 : 1));
}

/** Whether a folder with these files is complete. */
export const isComplete = (names: readonly string[]): boolean => names.includes('config.json') && hasWeights(names);

function hasWeights(names: readonly string[]): boolean {
  if (names.includes(SINGLE)) return true;
  const count = names.map((name) => SHARD.exec(name)?.[2]).find((total) => total !== undefined);
  const shards = names.filter((name) => SHARD.exec(name)?.[2] === count);
  return count !== undefined && shards.length === Number(count) && names.includes(INDEX);
}

/** fetch for the hub's API: it sends the token to the hub only, and reads a limited number of answers of a limited size. */
function hubFetch(hubUrl: string): typeof fetch {
  let requests = 0;
  return async (input, init) => {
    const url = new URL(String(input));
    if (url.origin !== new URL(hubUrl).origin) throw new InvalidAnswer('it continues on another host');
    if (++requests > MAX_REQUESTS) throw new InvalidAnswer(`its list of files has more than ${MAX_REQUESTS - 1} pages`);
    const pace = watchPace();
    try {
      const headers = { ...authorization(), ...(init?.headers as object) };
      const response = await proxiedFetch(url, { ...init, headers, signal: pace.signal });
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of response.body ?? []) {
        size += chunk.length;
        pace.count(chunk.length);
        if (size > MAX_ANSWER) throw new InvalidAnswer('its answer is too long');
        chunks.push(chunk);
      }
      const { status, headers: answered } = response;
      return new Response(size === 0 ? null : Buffer.concat(chunks), { status, headers: answered });
    } finally {
      pace.end();
    }
  };
}

/** fetch drops this header when a redirect leads to another origin. */
export function authorization(): { authorization?: string } {
  const token = hubToken();
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}
