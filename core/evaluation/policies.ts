// Rules of an evaluation. Shards and the activity that joins them both use them, so that they sample the same chains.

/** Whether tests are written for the chains that the evaluation samples itself: those of the base model or a warm start. */
export const testsOwnChains = ({ base, policies }: { base?: string | undefined; policies?: unknown }): boolean =>
  base === 'sampled' || (base === undefined && policies === undefined);

/** The policies with a newly trained adapter, for the role that has none yet. */
export function withAdapter<P extends object>(policies: { generator: P; discriminator: P }, adapter: string) {
  const { generator, discriminator } = policies;
  return { generator: { adapter, ...generator }, discriminator: { adapter, ...discriminator } };
}
