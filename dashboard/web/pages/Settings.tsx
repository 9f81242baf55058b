// The tab with the checkpoints of a run, the origin of its inputs, and its configuration.
import type { RunView } from '../../api.js';
import { decimal, time, visible } from '../format.js';
import { Card, LongText, Table } from '../parts/common.js';

export function Settings({ view }: { view: RunView }) {
  return (
    <>
      <Card title="Checkpoints">
        <p class="muted">
          The score is measured on validation problems: 0.7 × (mean share of passed tests − 0.5) + 0.3 × share of valid
          tests.
        </p>
        <Table
          label="Checkpoints"
          head={['Checkpoint', 'Step', 'Score', 'Digest']}
          numbers={[1, 2]}
          rows={view.checkpoints.map(({ name, step, score, digest }) => [
            `${name}${name === view.best ? ' (best)' : ''}`,
            step,
            decimal(score),
            <code>{digest.slice(7, 19)}</code>,
          ])}
          empty="A checkpoint appears at the end of every epoch."
        />
      </Card>
      <Card title="Provenance">
        <Table
          label="Provenance"
          head={['Input', 'Value']}
          rows={[
            ...view.facts.map(({ name, value }) => [name, <code>{visible(value)}</code>]),
            ['last record', time(view.recordedAt)],
          ]}
        />
      </Card>
      <Card title="Configuration">
        <LongText label="Configuration" text={JSON.stringify(view.config, null, 2)} />
      </Card>
    </>
  );
}
