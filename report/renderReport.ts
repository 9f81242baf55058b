// Renders the records of a run as one HTML page without scripts, network access or other files.
import { chainSection } from './chain.js';
import type { ReportData } from './data.js';
import { Html, html } from './html.js';
import { beforeAfter, checkpoints, curves, headline, origin, requests, training, warnings } from './sections.js';
import { PAGE_CSS } from './style.js';

export function renderReport(data: ReportData): string {
  // A second line of defence behind escaping: no scripts, no outside addresses.
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gauntlet · ${data.runId}</title>
<style>${new Html(PAGE_CSS)}</style></head>
<body><main>
${headline(data)}
${warnings(data)}
${curves(data)}
${beforeAfter(data)}
${training(data)}
${chainSection(data)}
${checkpoints(data)}${requests(data)}
${origin(data)}
</main></body></html>
`;
  return page.markup;
}
