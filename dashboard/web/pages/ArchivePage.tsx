// The archive: faulty programs that the discriminator sees again when the generator makes no new mistakes.
import type { ArchivedProgram, ArchiveView } from '../../api.js';
import { useResource } from '../data.js';
import { visible } from '../format.js';
import { Crumbs, Details, LongText, Scroll, Show } from '../parts/common.js';
import { link } from '../route.js';
import { resource } from '../source.js';

export function ArchivePage({ run }: { run: string }) {
  const loaded = useResource<ArchiveView>(resource('runs', run, 'archive'));
  return (
    <>
      <Crumbs>
        <a href={link('runs', run)}>{run}</a>
      </Crumbs>
      <h1>Archive of faulty programs</h1>
      <Show of={loaded}>
        {({ step, programs }) => (
          <>
            <p class="muted">
              {programs.length} programs after step {step}. The discriminator writes tests for them again when the
              generator makes no new mistakes.
            </p>
            {programs.length > 0 && <Programs run={run} programs={programs} />}
          </>
        )}
      </Show>
    </>
  );
}

function Programs({ run, programs }: { run: string; programs: ArchivedProgram[] }) {
  return (
    <Scroll label="Archived programs">
      <table>
        <thead>
          <tr>
            <th scope="col">Problem</th>
            <th scope="col">Found</th>
            <th scope="col" class="number">
              Groups of tests
            </th>
            <th scope="col" class="number">
              Caught by
            </th>
            <th scope="col">Program</th>
          </tr>
        </thead>
        <tbody>
          {programs.map(({ problemId, program, found, groups, caught }, i) => (
            <tr key={i}>
              <th scope="row">
                <a href={`${link('runs', run, 'problems')}?id=${encodeURIComponent(problemId)}`}>
                  {visible(problemId)}
                </a>
              </th>
              <td>
                {found && <a href={link('runs', run, 'steps', found.step, 'groups', found.group)}>step {found.step}</a>}
              </td>
              <td class="number">{groups}</td>
              <td class="number">{caught}</td>
              <td>
                <Details summary={<code>{visible(program.slice(0, 60))}</code>}>
                  {() => <LongText text={program} label={`Program for ${problemId}`} />}
                </Details>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
