// Loads the resources (api.ts) of the pages from the server, or from the report that contains the pages.
import type { ReportContents } from '../api.js';

const embedded = document.getElementById('report');

/** The data of the report; undefined if the pages come from a server. */
export const report = embedded ? (JSON.parse(embedded.textContent) as ReportContents) : undefined;

export const source = {
  /** False if the report leaves the resource out. */
  has: (path: string): boolean => report === undefined || Object.hasOwn(report.resources, path),

  async load(path: string): Promise<unknown> {
    if (report === undefined) return loadJson(path);
    if (source.has(path)) return report.resources[path];
    throw new Error('This report leaves it out. The dashboard of the store shows it: npx gauntlet dashboard');
  },
};

export async function loadJson(path: string, options?: RequestInit): Promise<unknown> {
  const response = await fetch(`api/${path}`, options);
  const body = await response.json();
  if (!response.ok) throw new Error(body.error?.message ?? response.statusText);
  return body;
}

/** The path of a resource. */
export const resource = (...path: (string | number)[]): string =>
  path.map((part) => encodeURIComponent(part)).join('/');
