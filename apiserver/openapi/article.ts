/** Matches abbreviations whose first letter has a name that starts with a vowel sound: an HTTPRoute (`aitch`). */
const spelledWithVowel = /^[AEFHILMNORSX][A-Z]/;
const spelled = /^[A-Z]{2}/;
/** Matches words that start with a vowel, but are pronounced like `you` or `won`: a User, a Once. */
const readAsConsonant = /^(?:Uni|Us[aeu]|Ut|Eu|Once|One)/;

/** Returns a kind with its article: `a Person`, `an Event`. */
export function withArticle(kind: string): string {
  const isSpelled = spelled.test(kind);
  const isVowel = isSpelled ? spelledWithVowel.test(kind) : /^[AEIOU]/.test(kind) && !readAsConsonant.test(kind);
  return `${isVowel ? 'an' : 'a'} ${kind}`;
}
