// `npm run docs` builds every page, refuses dead links, and fetches nothing from elsewhere.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './support.js';

describe('the documentation site', () => {
  it('has every page, a navigation and a search, and uses no other host', () => {
    const site = temporaryFolder();
    const vitepress = 'node_modules/vitepress/bin/vitepress.js';
    execFileSync(process.execPath, [vitepress, 'build', 'docs', '--outDir', site], { stdio: 'pipe' });
    const sources = ['docs', 'docs/how-to', 'docs/adr'].flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith('.md'))
        .map((name) => join(folder, name)),
    );
    for (const page of sources) assert.ok(existsSync(join(site, page.replace(/md$/, 'html'))), page);
    const page = readFileSync(join(site, 'docs/tutorial.html'), 'utf8');
    assert.ok(page.includes('href="/docs/how-to/resume.html"'), 'the navigation names other pages');
    assert.doesNotMatch(page, /<(script|img|iframe|link)[^>]+(src|href)="(https?:)?\/\//);
    const chunks = join(site, 'assets/chunks');
    const index = readdirSync(chunks).find((name) => name.startsWith('@localSearchIndex'))!;
    assert.match(readFileSync(join(chunks, index), 'utf8'), /warm start/i);
  });
});
