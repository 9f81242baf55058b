// A part of `npm run lint`: the subject of each commit since the last release must be `area: change`, with an imperative verb.
import { git, lastRelease } from './sizes.mjs';

const LONGEST = 72;
const AREA = /^[a-z][\w./:-]*(,? [\w./-]+)*: (\S+)/;
// matches 'drops', 'dropped' and 'dropping', but not 'process' or 'need'
const INFLECTED = /[^s]s$|[^e]ed$|ing$/;
const VERBS = ['focus', 'embed', 'bring'];
const OTHER_WORDS = 'a an the no not new more what how when with without one two room'.split(' ');

/** @returns {string[]} one line per subject that breaks the rule; empty if the history since the release is missing */
export function lintSubjects(root) {
  if (git(root, 'rev-parse', '--git-dir') === '') return [];
  const log = git(root, 'log', '--no-merges', '--format=%h %s', `${lastRelease(root)}..HEAD`);
  return [...log.matchAll(/^(\w+) (.*)$/gm)].flatMap(([, commit, subject]) => {
    const fault = faultOf(subject);
    return fault === undefined ? [] : [`commit ${commit}: ${fault}: ${subject}`];
  });
}

/** @returns {string | undefined} the reason why a subject is wrong */
export function faultOf(subject) {
  if (subject.length > LONGEST) return `the subject has ${subject.length} characters, more than ${LONGEST}`;
  const verb = AREA.exec(subject)?.[2];
  if (verb === undefined) return "the subject is not 'area: change' with an area in small letters";
  const isVerb =
    /^[a-z-]+$/.test(verb) && (VERBS.includes(verb) || !INFLECTED.test(verb)) && !OTHER_WORDS.includes(verb);
  return isVerb ? undefined : `'${verb}' is not an imperative verb, such as add, drop or say`;
}
