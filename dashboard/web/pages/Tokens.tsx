// The trained sequences of a group as a heat map over their tokens. A token shows its numbers when the pointer is on it, and a
// table lists the numbers of all trained tokens.
import { useState } from 'preact/hooks';
import type { TokenRow, TokensView } from '../../api.js';
import { useResource } from '../data.js';
import { decimal, signed, visible } from '../format.js';
import { Details, Show, Table } from '../parts/common.js';

const SHOWN = 3000; // the number of tokens that are shown of a sequence

type Colouring = 'log-prob' | 'entropy' | 'advantage' | 'ratio';

export function Tokens({ path }: { path: string }) {
  const loaded = useResource<TokensView>(path);
  return <Show of={loaded}>{(view) => <Samples view={view} />}</Show>;
}

function Samples({ view }: { view: TokensView }) {
  const [chosen, setChosen] = useState(0);
  const [colouring, setColouring] = useState<Colouring>(view.hasLogprobs ? 'log-prob' : 'advantage');
  const sample = view.samples[chosen];
  const hasEntropies = view.samples.some(({ rows }) => rows.some(({ entropies }) => entropies !== undefined));
  return (
    <>
      <div class="bar">
        <label>
          Sample{' '}
          <select value={chosen} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
            {view.samples.map(({ sample: name }, i) => (
              <option key={name} value={i}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Colour{' '}
          <select value={colouring} onChange={(event) => setColouring(event.currentTarget.value as Colouring)}>
            {view.hasLogprobs && <option>log-prob</option>}
            {hasEntropies && <option>entropy</option>}
            <option>advantage</option>
            {view.clip && <option>ratio</option>}
          </select>
        </label>
      </div>
      <p class="muted">
        {HELP[colouring]} Grey tokens were not trained.
        {view.clip && <ClipHelp range={view.clip} />}
        {!view.hasLogprobs && ' Log-probs of this step are no longer in the store.'}
        {!view.hasText && ' The tokenizer of the model is not on this machine: tokens are shown as numbers.'}
      </p>
      {sample?.rows.length === 0 && <p>Nothing of this sample gets credit in this step.</p>}
      {sample?.rows.map((row, i) => (
        <Row key={i} row={row} colouring={colouring} range={view.clip} />
      ))}
    </>
  );
}

const HELP: Readonly<Record<Colouring, string>> = {
  'log-prob': 'The stronger a token is marked, the less likely it was.',
  entropy: 'The stronger a token is marked, the less certain the model was of it.',
  advantage: 'Green tokens were made more likely, red ones less.',
  ratio: 'Green tokens had become more likely, red ones less.',
};

function ClipHelp({ range: [low, high] }: { range: [number, number] }) {
  return (
    <>
      {' '}
      The ratio is that of the token's probability to the one before the update, as the last pass over the samples (
      <code>ppo.epochs</code>) computed it. Underlined tokens were clipped: their ratio was below {decimal(low)} with a
      negative advantage, or above {decimal(high)} with a positive one, so they had no gradient.
    </>
  );
}

function Row({ row, colouring, range }: { row: TokenRow; colouring: Colouring; range: TokensView['clip'] }) {
  const { ids } = row;
  const [pointed, setPointed] = useState<number>();
  const point = ({ target }: Event): void => {
    const { t } = (target as HTMLElement).dataset;
    if (t !== undefined) setPointed(Number(t));
  };
  return (
    <>
      <p>
        {row.advantage === undefined
          ? 'Not trained, because it has no advantage.'
          : row.advantages === undefined && `Advantage of all trained tokens: ${signed(row.advantage)}`}
      </p>
      <p class="muted">{pointed === undefined ? 'Point at a token to see its numbers.' : numbersOf(row, pointed)}</p>
      <div class="tokens" onPointerOver={point}>
        {ids.slice(0, SHOWN).map((_, t) => (
          <span
            key={t}
            class={row.mask[t] !== 1 ? 'muted' : row.clipped?.[t] === 1 ? 'trained clipped' : 'trained'}
            style={heat(row, t, colouring, range)}
            data-t={t}
          >
            {textOf(row, t)}
          </span>
        ))}
        {ids.length > SHOWN && ` … ${ids.length - SHOWN} more tokens`}
      </div>
      <Details summary="Numbers of the trained tokens">{() => <TokenTable row={row} />}</Details>
    </>
  );
}

function TokenTable({ row }: { row: TokenRow }) {
  const trained = row.ids.map((_, t) => t).filter((t) => row.mask[t] === 1);
  const titles = ['Position', 'Token', 'Id', 'Log-prob', 'Log-prob of the base', 'Entropy', 'Advantage'];
  return (
    <Table
      label="Trained tokens"
      head={[...titles, ...(row.ratios ? ['Ratio', 'Clipped'] : [])]}
      rows={trained
        .slice(0, SHOWN)
        .map((t) => [
          t,
          <code>{textOf(row, t)}</code>,
          row.ids[t],
          decimal(row.logprobs?.[t]),
          decimal(row.referenceLogprobs?.[t]),
          decimal(row.entropies?.[t]),
          decimal(advantageOf(row, t)),
          ...(row.ratios ? [decimal(row.ratios[t], 4)] : []),
          ...(row.clipped ? [row.clipped[t] === 1 ? 'yes' : 'no'] : []),
        ])}
    />
  );
}

const textOf = (row: TokenRow, t: number): string =>
  row.texts === undefined ? `${row.ids[t]} ` : visible(row.texts[t]!);

const advantageOf = (row: TokenRow, t: number): number | undefined => row.advantages?.[t] ?? row.advantage;

function numbersOf(row: TokenRow, t: number): string {
  const place = `token ${t}, id ${row.ids[t]}`;
  if (row.mask[t] !== 1) return `${place}, not trained`;
  const logprob = row.logprobs?.[t];
  return [
    place,
    ...(logprob === undefined ? [] : [`log-prob ${decimal(logprob)} (p ${decimal(Math.exp(logprob))})`]),
    ...(row.entropies ? [`entropy ${decimal(row.entropies[t])}`] : []),
    `advantage ${decimal(advantageOf(row, t))}`,
    ...(row.ratios ? [`ratio ${decimal(row.ratios[t], 4)}${row.clipped?.[t] === 1 ? ' (clipped)' : ''}`] : []),
  ].join(', ');
}

/**
 * The background of a token: at most 45 % of a colour, so that the text stays readable. Tokens with an entropy of one nat, or
 * with a ratio at the end of its range, have the full 45 %.
 */
function heat(row: TokenRow, t: number, colouring: Colouring, range: TokensView['clip']): { background?: string } {
  if (row.mask[t] !== 1) return {};
  const advantage = advantageOf(row, t) ?? 0;
  const change = Math.log(row.ratios?.[t] || 1);
  const [strength, colour] = {
    'log-prob': [1 - Math.exp(row.logprobs?.[t] ?? 0), 'warn'] as const,
    entropy: [row.entropies?.[t] ?? 0, 'warn'] as const,
    advantage: [Math.abs(advantage) / 2, advantage < 0 ? 'bad' : 'good'] as const,
    ratio: [change / Math.log((change < 0 ? range?.[0] : range?.[1]) ?? 1), change < 0 ? 'bad' : 'good'] as const,
  }[colouring];
  return { background: `color-mix(in srgb, var(--${colour}) ${Math.round(45 * Math.min(1, strength))}%, transparent)` };
}
