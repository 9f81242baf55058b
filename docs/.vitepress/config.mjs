// `npm run docs`: the Markdown pages as a site with search, in the folder site/. A dead link fails the build. The site
// fetches nothing from elsewhere.
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';

/** The tables of docs/README.md, which lists every page, are the navigation: a group per heading. */
function groups() {
  const index = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  return index.split(/^#+ /m).flatMap((section) => {
    const links = [...section.matchAll(/^\|.*?\[([^\]]+)\]\(([^)]+\.md)\)/gm)];
    const items = links.map(([, text, page]) => ({ text, link: new URL(page, 'file:///docs/').pathname }));
    return items.length === 0 ? [] : [{ text: section.split('\n')[0], items }];
  });
}

export default defineConfig({
  title: 'gauntlet',
  description: 'Chained adversarial reasoning for code models, as durable workflows',
  srcDir: '..',
  srcExclude: ['!(docs|lab|data)/**/*.md'],
  rewrites: { 'README.md': 'index.md' },
  outDir: '../site',
  cacheDir: '../.cache/vitepress',
  themeConfig: {
    search: { provider: 'local' },
    nav: [{ text: 'All pages', link: '/docs/README' }],
    sidebar: groups(),
    outline: [2, 3],
  },
});
