// Entry of the pages: chooses the page by the address after #.
import { render } from 'preact';
import { ArchivePage } from './pages/ArchivePage.js';
import { DiffPage } from './pages/DiffPage.js';
import { ProblemsPage } from './pages/ProblemsPage.js';
import { RunPage } from './pages/RunPage.js';
import { RunsPage } from './pages/RunsPage.js';
import { StepPage } from './pages/StepPage.js';
import { link, useRoute } from './route.js';
import { report } from './source.js';
import './style.css';

function App() {
  const { path, query } = useRoute();
  document.title = [path.slice(1).join(' '), 'gauntlet'].filter(Boolean).join(' · ');
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <header>
        <a class="brand" href={link()}>
          gauntlet
        </a>
        {report && <span class="muted">report of a run</span>}
      </header>
      <main id="main" tabIndex={-1}>
        {page(path, query)}
      </main>
    </>
  );
}

function page(path: string[], query: URLSearchParams) {
  const home = report === undefined ? ['runs'] : ['runs', report.run];
  const [collection, run, part, step, of, group] = path.length === 0 ? home : path;
  if (collection === 'diff' && run !== undefined && part !== undefined) return <DiffPage sides={path.slice(1)} />;
  if (collection === 'runs') {
    if (run === undefined) return <RunsPage />;
    if (part === undefined) return <RunPage run={run} />;
    if (part === 'problems') return <ProblemsPage run={run} shown={query.get('id') ?? undefined} />;
    if (part === 'archive') return <ArchivePage run={run} />;
    if (part === 'steps' && step !== undefined)
      return <StepPage run={run} step={step} group={of === 'groups' ? Number(group) : undefined} />;
  }
  return (
    <p>
      There is no such page. <a href={link()}>First page</a>
    </p>
  );
}

render(<App />, document.getElementById('app')!);
