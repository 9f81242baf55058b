import assert from 'node:assert/strict';
import { COLOURS, chartSvg } from '../../report/charts.js';
import { bestName, renderCurveSvg, solvedChart } from '../../report/curves.js';
import { controlSchema, type ReportData } from '../../report/data.js';
import { grouped, points } from '../../report/figures.js';
import { escapeHtml, html } from '../../report/html.js';
import { renderReport } from '../../report/renderReport.js';
import { controlCurve, stageBands, stepCurve, validationCurve } from '../../report/series.js';
import { fakeDigest, HOSTILE, sampleData } from './sample.js';

/** A small well-formedness check: every element that opens is closed, in order. */
function checkNesting(markup: string): void {
  const voids = new Set(['meta', 'br', 'hr', 'img', 'link', 'input']);
  const open: string[] = [];
  const body = markup.replace(/<!doctype html>/, '').replace(/<style[^>]*>[\s\S]*?<\/style>/g, '');
  for (const [, close, name, selfClosing] of body.matchAll(/<(\/?)([a-z][a-z0-9]*)(?:[^<>"]|"[^"]*")*?(\/?)>/gi)) {
    if (selfClosing || voids.has(name!)) continue;
    if (close) assert.equal(open.pop(), name, `</${name}>`);
    else open.push(name!);
  }
  assert.deepEqual(open, []);
}

describe('report: page', () => {
  const data = sampleData();
  const page = renderReport(data);

  it('is one well-formed document without scripts or external addresses', () => {
    checkNesting(page);
    assert.match(page, /^<!doctype html>\n<html lang="en">/);
    assert.doesNotMatch(page, /<script|<link|<iframe|@import|url\((?!#)/i);
    const addresses = [...page.matchAll(/https?:\/\/[^"'\s<]+/g)].map(([address]) => address);
    assert.deepEqual([...new Set(addresses)].sort(), ['http://www.w3.org/1999/xlink', 'http://www.w3.org/2000/svg']); // names of XML
    assert.match(page, /default-src &#39;none&#39;/);
  });

  it('is a pure function of its data', () => {
    assert.equal(renderReport(sampleData()), page);
    assert.doesNotMatch(page, /\bzr\d/);
  });

  it('escapes the text of models and problems', () => {
    assert.ok(!page.includes('<script'), 'a script got into the page');
    assert.ok(!page.includes('<img'), 'markup got into the page');
    assert.equal(page.split(escapeHtml(HOSTILE)).length - 1, 2); // description and stage 2
    assert.ok(page.includes('&#39;&lt;b&gt;&#39;')); // an expected value
    const hostile: ReportData = {
      ...data,
      runId: HOSTILE,
      codeVersion: HOSTILE,
      control: { ...data.control!, command: HOSTILE },
    };
    const rendered = renderReport({ ...hostile, config: { ...data.config, model: HOSTILE }, metrics: [] });
    assert.ok(!rendered.includes('<script') && !rendered.includes('<img'));
    checkNesting(rendered);
  });

  it('starts with the results before and after training and their change in points', () => {
    assert.match(page, /<h1>65\.2 % → 93\.2 % of held-out problems solved<\/h1>/);
    for (const text of ['64.6 → 84.2 %', '+28.0 points', '+35.6 points', '+19.6 points', '−1.0 points', '5 min 12 s']) {
      assert.ok(page.includes(text), text);
    }
    assert.ok(page.includes('71.9 %'), 'the control’s figure');
    assert.ok(page.includes('gauntlet train --preset tiny-no-discriminator --seed 1'));
  });

  it('compares all rates before and after, and those of the run without a discriminator', () => {
    const rowsOf = (given: ReportData) => {
      const [head, ...rows] = renderReport({ ...given, metrics: [] }) // no charts
        .split('<h2>Before and after, on held-out problems</h2>')[1]!
        .split('</table>')[0]!
        .split('<tr>')
        .slice(1)
        .map((row) => row.split(/<\/t[hd]>/).map((cell) => cell.replace(/<small>.*<\/small>|<[^>]*>/g, '').trim()));
      assert.deepEqual(head!.slice(0, 4), ['rate', 'before', 'after', 'change']);
      return rows.map((cells) => cells.filter((cell) => cell !== ''));
    };
    const rows = [
      ['Solved, sampled', '65.2 %', '93.2 %', '+28.0 points'],
      ['Solved, greedy', '59.6 %', '95.2 %', '+35.6 points'],
      ['Valid tests', '64.6 %', '84.2 %', '+19.6 points'],
      ['Bugs caught', '34.1 %', '33.1 %', '−1.0 points'],
    ];
    const withControl = ['71.9 %', '68.1 %', '–', '–'].map((cell, i) => [...rows[i]!, cell]);
    assert.deepEqual(rowsOf(data), withControl);
    const { control: _control, ...alone } = data;
    assert.deepEqual(rowsOf(alone), rows);
  });

  it('draws the statistics of value head, KL penalty and entropy bonus only if a run has them', () => {
    const titles = [
      'KL divergence from the base',
      'Entropy of the policy',
      'Loss of the value head',
      'Explained variance',
    ];
    for (const shown of [
      'Learning rate',
      'Standard deviation of rewards',
      'tokens per second',
      'Empty outputs',
      'Tests per suite',
    ])
      assert.ok(page.includes(shown), shown);
    for (const title of titles) assert.ok(!page.includes(title), title);
    const more = { kl: 0.02, exactEntropy: 1.5, valueLoss: 0.1, explainedVariance: 0.4 };
    const metrics = data.metrics.map((record) =>
      record.kind === 'step' ? { ...record, update: { ...record.update, ...more } } : record,
    );
    const withAll = renderReport({ ...data, metrics });
    for (const title of titles) assert.ok(withAll.includes(title), title);
    checkNesting(withAll);
  });

  it('names the model and the adapter of each role', () => {
    assert.ok(page.includes('the embedded model, stages'));
    assert.ok(page.includes('discriminator adapter') && !page.includes('model of the discriminator'));
    const one = renderReport({
      ...data,
      metrics: [],
      config: { ...data.config, mode: 'unified' },
      result: { ...data.result!, digests: { generator: fakeDigest('e'), discriminator: fakeDigest('e') } },
    });
    assert.ok(one.includes('the embedded model in both roles with one adapter, stages'));
    assert.ok(!one.includes('discriminator adapter'));
    const two = renderReport({
      ...data,
      metrics: [],
      config: { ...data.config, discriminator: { ...data.config.discriminator, model: 'other' } },
      digests: { ...data.digests, discriminatorModel: fakeDigest('7') },
    });
    assert.ok(two.includes('the embedded model against other, stages') && two.includes('model of the discriminator'));
  });

  it('shows one chain in full: five stages, tests with their outcomes, rewards', () => {
    for (const title of [
      'Informal reasoning',
      'Structured reasoning',
      'Pseudocode',
      'Constraints and invariants',
      'Executable code',
    ]) {
      assert.ok(page.includes(title), title);
    }
    assert.ok(page.includes('best = max(best, x)'));
    assert.equal(page.match(/class="good verdict">pass</g)?.length, 9);
    assert.equal(page.match(/class="bad verdict">fail</g)?.length, 1);
    assert.equal(page.match(/class="warn verdict">invalid</g)?.length, 1);
    assert.ok(page.includes('1 more could not be read'));
    for (const reward of ['0.41', '0.40', '−0.10', '0.07', '0.70'])
      assert.ok(page.includes(`<strong>${reward}</strong>`), reward);
  });

  it('shows the rewards at the stages that have tests', () => {
    const { view, by } = sampleData().chain!;
    for (const stage of [0, 2]) {
      view.stages[stage]!.tests = [];
      view.stages[stage]!.lost = 0;
    }
    view.rewards.discriminator = [0.11, 0.22, 0.33];
    const part = renderReport({ ...data, metrics: [], chain: { view, by } });
    const stages = part
      .split('<section')
      .slice(1)
      .map((section) => section.match(/Reward of the discriminator: <strong>([^<]+)/)?.[1]);
    assert.deepEqual(stages, [undefined, '0.11', undefined, '0.22', '0.33']);
  });

  it('lists every checkpoint, marks the best, and gives digests in full', () => {
    const rows = page
      .split('<h2>Checkpoints</h2>')[1]!
      .split('</table>')[0]!
      .match(/<tr[ >]/g)!;
    assert.equal(rows.length, 1 + data.checkpoints.length);
    assert.equal(page.match(/<tr class="best">/g)?.length, 1);
    assert.match(
      page,
      new RegExp(`<tr class="best"><th scope="row"><code>${data.result!.best}</code> <strong>best</strong>`),
    );
    for (const digest of [data.digests.model, data.digests.data, data.result!.digests.generator])
      assert.ok(page.includes(digest));
    assert.ok(page.includes(escapeHtml(JSON.stringify(data.config, null, 2))));
  });

  it('gives every table a caption, every picture a title and a description, every element a unique id', () => {
    assert.equal(page.match(/<table/g)?.length, page.match(/<caption>[^<]/g)?.length);
    const pictures = page.match(/<svg[^>]*>/g)!;
    assert.equal(pictures.length, 12);
    for (const picture of pictures) assert.match(picture, /role="img".* aria-labelledby="[a-z]+-title [a-z]+-text"/);
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length);
    for (const [, names] of page.matchAll(/aria-labelledby="([^"]+)"/g)) {
      for (const name of names!.split(' ')) assert.ok(ids.includes(name), name);
    }
  });

  it('renders a run that is not finished or has no update yet', () => {
    const { result: _result, control: _control, chain: _chain, ...running } = data;
    const going = renderReport(running);
    checkNesting(going);
    assert.match(going, /<h1>Run first: stage 5, update 60<\/h1>/);
    assert.ok(!going.includes('without a discriminator'));
    const empty = renderReport({ ...running, metrics: [], checkpoints: [] });
    checkNesting(empty);
    assert.ok(empty.includes('No points yet.'));
  });
});

describe('report: curves', () => {
  const data = sampleData();

  it('contain the points of one split and role, in the order of updates', () => {
    const test = { ...data.metrics.find((m) => m.kind === 'evaluation')!, split: 'test' as const, step: 60 };
    const curve = validationCurve({ ...data, metrics: [...data.metrics, test] } as ReportData, 'passRate');
    assert.equal(curve.length, 31); // the base, and 6 epochs in each of 5 stages
    assert.deepEqual(
      curve.map(([step]) => step),
      [...curve.map(([step]) => step)].sort((a, b) => a - b),
    );
    assert.deepEqual([curve[0]![0], curve.at(-1)![0]], [0, 60]);
    assert.deepEqual(
      stepCurve(data, 'generator', (m) => m.reward)
        .slice(0, 6)
        .map(([step]) => step),
      [5, 6, 7, 8, 9, 11],
    );
    assert.equal(stepCurve(data, 'discriminator', () => undefined).length, 0);
  });

  it('divide the axis into stages as planned', () => {
    assert.deepEqual(stageBands(data).at(1), { stage: 2, start: 12, end: 24 });
    const some = { ...data.config, schedule: { ...data.config.schedule, stages: [3, 5] as (3 | 5)[] } };
    assert.deepEqual(stageBands({ config: some, metrics: [] }), [
      { stage: 3, start: 0, end: 12 },
      { stage: 5, start: 12, end: 24 },
    ]);
  });

  it('show a stage whose length was changed with the updates that it took', () => {
    const one = data.metrics.find((metrics) => metrics.kind === 'step')!;
    const at = (stage: 2 | 3 | 4, ...updates: number[]) => updates.map((step) => ({ ...one, stage, step }));
    const config = { ...data.config, schedule: { ...data.config.schedule, stages: [2, 3, 4] as (2 | 3 | 4)[] } };
    const metrics = [...at(2, 1, 2, 14), ...at(3, 15, 16)];
    assert.deepEqual(stageBands({ config, metrics }), [
      { stage: 2, start: 0, end: 14 },
      { stage: 3, start: 14, end: 26 }, // goes on, as planned
      { stage: 4, start: 26, end: 38 },
    ]);
    const { result } = data;
    assert.deepEqual(stageBands({ config, metrics, ...(result && { result }) }), [
      { stage: 2, start: 0, end: 14 },
      { stage: 3, start: 14, end: 16 }, // was stopped
    ]);
    assert.deepEqual(stageBands({ config, metrics: at(3, 13, 14) }).slice(0, 2), [
      { stage: 2, start: 0, end: 12 }, // before the fork
      { stage: 3, start: 12, end: 24 },
    ]);
  });

  it('list control requests and the reason for stopping early', () => {
    const control = { kind: 'control', step: 3, stage: 1, next: 3, at: '2026-01-01T00:00:00.000Z' } as const;
    const changed = { ...control, index: 1, action: 'change', fields: { ppo: { learningRate: 0.001 } } } as const;
    const ended = { ...control, index: 2, action: 'budget', reason: 'the budget of 9 tokens' } as const;
    const result = { ...data.result!, stopped: 'the budget of 9 tokens' };
    const page = renderReport({ ...data, result, metrics: [ended, changed] });
    checkNesting(page);
    assert.match(page, /It stopped early: the budget of 9 tokens\.</);
    assert.match(page, /change ppo\.learningRate=0\.001<.*2026-01-01.*\n?.*budget the budget of 9 tokens</s);
    assert.doesNotMatch(renderReport({ ...data, metrics: [] }), /Control requests|stopped early/);
  });

  it('place the run without a discriminator by its number of generator updates', () => {
    // Of 12 updates in a stage, the generator makes 5–8, 9 and 11; the control makes only these six.
    const control = controlCurve(data, 'passRate').map(([step]) => step);
    assert.deepEqual(control.slice(0, 7), [0, 8, 9, 11, 20, 21, 23]);
    assert.equal(control.at(-1), 59);
    assert.deepEqual(controlCurve(data, 'testValidity'), []);
    assert.deepEqual(controlCurve({ ...data, control: undefined }, 'passRate'), []);
  });

  it('mark the best checkpoint: that of the result, else the first with the highest score', () => {
    assert.equal(bestName(data), data.result!.best);
    const two = data.checkpoints.slice(0, 2).map((checkpoint) => ({ ...checkpoint, score: 1 }));
    assert.equal(bestName({ ...data, result: undefined, checkpoints: [...two].reverse() }), two[0]!.name);
    assert.equal(bestName({ ...data, result: undefined, checkpoints: [] }), undefined);
  });

  it('draw a line through its points', () => {
    const chart = {
      ...solvedChart(data),
      lines: [
        {
          name: 'line',
          colour: 'sampled' as const,
          points: [
            [0, 0],
            [30, 1],
            [60, 0.5],
          ] as [number, number][],
        },
      ],
    };
    const { markup } = chartSvg({ ...chart, mark: undefined });
    const path = markup.match(
      /<path d="M([^"]+)" fill="none"[^>]*stroke="var\(--sampled, #1d63d8\)" stroke-width="2.2"/,
    )![1]!;
    const at = path.split('L').flatMap((part) => part.split(' ').map(Number));
    assert.equal(at.length, 6);
    const [x0, y0, x1, y1, x2, y2] = at as [number, number, number, number, number, number];
    assert.ok(Math.abs((x0 + x2) / 2 - x1) < 0.01, 'x is linear');
    assert.ok(Math.abs((y0 + y1) / 2 - y2) < 0.01 && y1 < y0, 'y is linear and grows upwards');
  });

  it('render the README’s picture as one SVG with colours for light and dark', () => {
    const svg = renderCurveSvg(data);
    checkNesting(svg);
    assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    assert.match(svg, /prefers-color-scheme:dark/);
    for (const text of [
      'Problems solved on the validation split',
      'stage 1',
      'stage 5',
      'without a discriminator',
      'best',
    ]) {
      assert.ok(svg.includes(text), text);
    }
    assert.equal(renderCurveSvg(data), svg);
  });

  it('use only colours that follow the reader’s scheme', () => {
    const lights: string[] = Object.values(COLOURS).map(([light]) => light);
    assert.equal(new Set(lights).size, lights.length);
    // Only clip paths and fills without area use black.
    const fixed = [
      ...renderCurveSvg(data)
        .replace(/<style>.*?<\/style>/s, '')
        .matchAll(/(?:fill|stroke)="(#[0-9a-f]+|rgb[^"]*)"/g),
    ];
    assert.deepEqual(
      [...new Set(fixed.map(([, colour]) => colour))].filter((colour) => colour !== '#000'),
      [],
    );
  });
});

describe('report: helpers', () => {
  it('escapes every value of the template except Html', () => {
    const part = html`<b title="${'"\'<'}">${html`<i>${'a & b'}</i>`}${[html`<u></u>`, '<', 3]}${undefined}${null}${false}</b>`;
    assert.equal(part.markup, '<b title="&quot;&#39;&lt;"><i>a &amp; b</i><u></u>&lt;3</b>');
    assert.equal(escapeHtml('a\0b\x1b[0m\td\n\ud800e\u{1f600}'), 'a\ufffdb\ufffd[0m\td\n\ufffde\u{1f600}');
  });

  it('formats changes in points with their sign', () => {
    assert.equal(points(0.5, 0.625), '+12.5 points');
    assert.equal(points(0.5, 0.4), '−10.0 points');
    assert.equal(points(undefined, 0.4), '–');
  });

  it('groups whole numbers in thousands', () => {
    const counts = [0, 7, 999, 1000, 65_536, 100_000, 1_234_567, 2 ** 53 - 1];
    for (const count of counts) assert.equal(grouped(count), count.toLocaleString('en-GB'));
  });

  it('validates a recorded run without a discriminator', () => {
    const control = JSON.parse(JSON.stringify(sampleData().control));
    assert.deepEqual(controlSchema.parse(control), sampleData().control);
    assert.equal(controlSchema.safeParse({ ...control, points: [{ step: 1, rates: { passRate: 2 } }] }).success, false);
  });
});
