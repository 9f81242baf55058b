// The search attributes of a run on the server, and their types as the Temporal CLI spells them.

export const SEARCH_ATTRIBUTES = {
  GauntletState: 'Keyword',
  GauntletStage: 'Int',
  GauntletPhase: 'Keyword',
  GauntletModel: 'Keyword',
  GauntletBestScore: 'Double',
  GauntletFailure: 'Keyword', // the code of the failure
} as const;
export type SearchAttribute = keyof typeof SEARCH_ATTRIBUTES;
