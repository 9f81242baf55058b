// The entry point of the pages: shows the page that belongs to the address after #.
import { render } from 'preact';
import { DiffPage } from './pages/DiffPage.js';
import { RunPage } from './pages/RunPage.js';
import { RunsPage } from './pages/RunsPage.js';
import { link, type Route, useRoute } from './route.js';
import { report, source } from './source.js';
import './style.css';

function App() {
  const route = useRoute();
  const { path } = route;
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
        {source.has('runs') && (
          <nav aria-label="All pages">
            <a href={link('runs')}>Runs</a>
          </nav>
        )}
      </header>
      <main id="main" tabIndex={-1}>
        <Page {...route} />
      </main>
    </>
  );
}

function Page({ path, query }: Route) {
  const home = report === undefined ? ['runs'] : ['runs', report.run];
  const [collection, run, ...rest] = path.length === 0 ? home : path;
  if (collection === 'diff' && run !== undefined && rest[0] !== undefined) return <DiffPage runs={[run, rest[0]]} />;
  if (collection === 'runs')
    return run === undefined ? <RunsPage /> : <RunPage key={run} run={run} path={rest} query={query} />;
  return (
    <>
      <p>There is no such page.</p>
      {report ? <a href={link()}>First page</a> : <RunsPage />}
    </>
  );
}

render(<App />, document.getElementById('app')!);
