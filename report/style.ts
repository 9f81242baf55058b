// The style of the page: one column, system fonts, the reader's colour scheme.
import { colourCss } from './charts.js';

export const PAGE_CSS = `${colourCss(':root')}
:root{--page:#fff;--card:#f7f8fb;--line:#dfe3ea;--good:#0b6b45;--bad:#b3261e;--warn:#8a5a00;color-scheme:light dark}
@media(prefers-color-scheme:dark){:root{--page:#14171d;--card:#1b1f27;--line:#323947;--good:#5fd39b;--bad:#ff8a80;--warn:#f2c14e}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1000px;margin:0 auto;padding:24px 20px 64px}
h1{font-size:1.7rem;line-height:1.25;margin:.2em 0 .3em}
h2{font-size:1.25rem;margin:2.4em 0 .5em;padding-bottom:.25em;border-bottom:1px solid var(--line)}
h3{font-size:1.02rem;margin:1.6em 0 .4em}
p{margin:.5em 0;max-width:72ch}
.muted,small{color:var(--muted)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:12px;margin:18px 0}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:12px 16px}
.tile dt{color:var(--muted);font-size:.9rem}
.tile dd{margin:2px 0 0;font-size:1.35rem;font-weight:650;font-variant-numeric:tabular-nums;white-space:nowrap}
.tile dd small{font-size:.85rem;font-weight:400;display:block}
figure{margin:14px 0}
figcaption{color:var(--muted);font-size:.92rem;max-width:80ch}
.plot{overflow-x:auto}
.plot svg{width:100%;height:auto;min-width:520px;display:block}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:4px 20px}
.pair .plot svg{min-width:0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.95rem}
caption{text-align:left;color:var(--muted);padding:4px 0 6px;font-size:.92rem}
th,td{padding:6px 10px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left;padding-left:0}
table.words :is(th,td){text-align:left}
table.words :is(th:first-child,td:nth-child(2)){white-space:normal}
thead th{color:var(--muted);font-weight:600}
tbody th{font-weight:500;white-space:normal;min-width:9em}
code,pre{font:.88rem/1.5 ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono",monospace}
code{overflow-wrap:anywhere}
pre{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px;margin:8px 0;white-space:pre-wrap;overflow-wrap:anywhere}
.stage{border-left:3px solid var(--line);padding-left:16px;margin:20px 0}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
.verdict{font-weight:600}
.best{background:var(--card)}
details{margin:8px 0}
summary{cursor:pointer;color:var(--muted)}
a{color:var(--sampled)}
@media print{details:not([open])>:not(summary){display:block}}
`;
