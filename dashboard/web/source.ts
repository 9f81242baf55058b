// Where the pages get their resources (api.ts): from the server, or from the report that they are in.
import type { ReportContents } from '../api.js';

interface Source {
  has(path: string): boolean; // false: a report leaves it out
  load(path: string): Promise<unknown>;
}

const embedded = document.getElementById('report');

/** Undefined if a server answers. */
export const report = embedded ? (JSON.parse(embedded.textContent) as ReportContents) : undefined;

const fromServer: Source = { has: () => true, load: (path) => loadJson(path) };

const fromReport = ({ resources }: ReportContents): Source => ({
  has: (path) => Object.hasOwn(resources, path),
  load: async (path) => {
    if (Object.hasOwn(resources, path)) return resources[path];
    throw new Error('This report leaves it out. The dashboard of the store shows it: npx gauntlet dashboard');
  },
});

export const source = report === undefined ? fromServer : fromReport(report);

export async function loadJson(path: string, options?: RequestInit): Promise<unknown> {
  const response = await fetch(`api/${path}`, options);
  const body = await response.json();
  if (!response.ok) throw new Error(body.error?.message ?? response.statusText);
  return body;
}

/** Path of a resource. */
export const resource = (...path: (string | number)[]): string =>
  path.map((part) => encodeURIComponent(part)).join('/');
